-- Takes a batch of limits, all or nothing, as window.ts counts them.
--
-- KEYS: one counter per limit; a key may occur more than once. Value: "<sequence> <current> <previous>".
-- ARGV: the time in unix milliseconds ("": this server's clock, which all callers share), then for each
--   key: limit, duration in ms, cost, and the caller's copy of the counter in the form of its value, or "".
--   The larger of copy and stored value is used: requests that passed while this server was away, or
--   whose counter it has lost, still count.
-- Returns for each key "<passed> <used> <used by others> <sequence> <current> <previous>".

local nowMs = tonumber(ARGV[1])
if not nowMs then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Lua itself would write large numbers as 1e+14 and lose digits.
local format = string.format

-- A counter's value as of `sequence`: current, previous.
local function rebase(value, sequence)
  if not value or value == '' then return 0, 0 end
  local was, current, previous = string.match(value, '^(%S+) (%S+) (%S+)$')
  local age = sequence - tonumber(was)
  if age == 1 then return 0, tonumber(current) end
  if age == 0 or age == -1 then return tonumber(current), tonumber(previous) end
  return 0, 0
end

local cells = {}
local looks = {}
local passedAll = true

for i, key in ipairs(KEYS) do
  local at = 4 * i - 2
  local limit, duration, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local cell = cells[key]
  if not cell then
    local sequence = math.floor(nowMs / duration)
    local stored, known = redis.call('GET', key), ARGV[at + 3]
    local current, previous = rebase(stored, sequence)
    if known ~= '' and known ~= stored then
      local knownCurrent, knownPrevious = rebase(known, sequence)
      current, previous = math.max(current, knownCurrent), math.max(previous, knownPrevious)
    end
    cell = {
      sequence = sequence,
      duration = duration,
      left = 1 - (nowMs % duration) / duration,
      current = current,
      previous = previous,
      taken = 0,
    }
    cells[key] = cell
  end
  local usedByOthers = cell.current + math.floor(cell.previous * cell.left)
  local used = usedByOthers + cell.taken
  local passed = limit > 0 and used + cost <= limit
  if passed then cell.taken = cell.taken + cost else passedAll = false end
  looks[i] = { passed = passed and 1 or 0, used = used, usedByOthers = usedByOthers }
end

-- Redis refuses a time to live beyond 63 bits.
local longestMs = 4e12

for key, cell in pairs(cells) do
  local isCounted = passedAll and cell.taken > 0
  if isCounted then cell.current = cell.current + cell.taken end
  cell.value = format('%.0f %.0f %.0f', cell.sequence, cell.current, cell.previous)
  if isCounted then
    local leftMs = math.min(longestMs, (cell.sequence + 2) * cell.duration - nowMs)
    redis.call('SET', key, cell.value, 'PX', format('%.0f', leftMs))
  end
end

local answer = {}
for i, key in ipairs(KEYS) do
  local look = looks[i]
  answer[i] = format('%d %.0f %.0f %s', look.passed, look.used, look.usedByOthers, cells[key].value)
end
return answer

-- Takes the limits of several calls, each call all or nothing, as window.ts counts them: the same as if the
-- calls had come one after the other.
--
-- KEYS: one counter per limit, those of a call in a row; a key may occur more than once. Value:
--   "<sequence> <current> <previous>".
-- ARGV: the time in unix milliseconds ("": this server's clock, which all callers share), how many limits
--   each call has ("": one each), then for each key: limit, duration in ms, cost, and the caller's copy of
--   the counter in the form of its value, or "".
--   The larger of copy and stored value is used: requests that passed while this server was away, or
--   whose counter it has lost, still count.
-- Returns for each key "<passed> <used> <used by others> <sequence> <current> <previous>".

local floor = math.floor
-- Lua itself would write large numbers as 1e+14 and lose digits.
local format = string.format

local nowMs = tonumber(ARGV[1])
if not nowMs then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + floor(time[2] / 1000)
end

-- What is stored, kept up to date: a command for all keys, and one for each that is counted.
local values = {}
for i, value in ipairs(redis.call('MGET', unpack(KEYS))) do values[KEYS[i]] = value end

-- A counter's value as of `sequence`: current, previous.
local function rebase(value, sequence)
  if not value or value == '' then return 0, 0 end
  local was, current, previous = string.match(value, '^(%S+) (%S+) (%S+)$')
  local age = sequence - tonumber(was)
  if age == 1 then return 0, tonumber(current) end
  if age == 0 or age == -1 then return tonumber(current), tonumber(previous) end
  return 0, 0
end

local function read(key, known, sequence)
  local stored = values[key]
  local current, previous = rebase(stored, sequence)
  if known ~= '' and known ~= stored then
    local knownCurrent, knownPrevious = rebase(known, sequence)
    current, previous = math.max(current, knownCurrent), math.max(previous, knownPrevious)
  end
  return current, previous
end

-- Redis refuses a time to live beyond 63 bits.
local longestMs = 4e12

local function toValue(sequence, current, previous)
  return format('%.0f %.0f %.0f', sequence, current, previous)
end

local function store(key, value, sequence, duration)
  local leftMs = math.min(longestMs, (sequence + 2) * duration - nowMs)
  -- As text: Redis 7.2.0 to 7.2.4 would write some whole numbers with an exponent, and then refuse them.
  redis.call('SET', key, value, 'PX', format('%.0f', leftMs))
  values[key] = value
end

local function argumentsOf(i)
  local at = 4 * i - 1
  return tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
end

-- A call with one limit, which nearly all have.
local function takeOne(i)
  local key = KEYS[i]
  local limit, duration, cost, known = argumentsOf(i)
  local sequence = floor(nowMs / duration)
  local current, previous = read(key, known, sequence)
  local used = current + floor(previous * (1 - (nowMs % duration) / duration))
  local passed = limit > 0 and used + cost <= limit
  local isCounted = passed and cost > 0
  if isCounted then current = current + cost end
  local value = toValue(sequence, current, previous)
  if isCounted then store(key, value, sequence, duration) end
  return format('%d %.0f %.0f %s', passed and 1 or 0, used, used, value)
end

local answer = {}

-- A call with the limits `first` to `last`.
local function takeAll(first, last)
  local cells, looks = {}, {}
  local passedAll = true
  for i = first, last do
    local key = KEYS[i]
    local limit, duration, cost, known = argumentsOf(i)
    local cell = cells[key]
    if not cell then
      local sequence = floor(nowMs / duration)
      local current, previous = read(key, known, sequence)
      local left = 1 - (nowMs % duration) / duration
      cell = { sequence = sequence, duration = duration, current = current, previous = previous, taken = 0 }
      cell.usedByOthers = current + floor(previous * left)
      cells[key] = cell
    end
    local used = cell.usedByOthers + cell.taken
    local passed = limit > 0 and used + cost <= limit
    if passed then cell.taken = cell.taken + cost else passedAll = false end
    looks[i] = format('%d %.0f %.0f ', passed and 1 or 0, used, cell.usedByOthers)
  end
  for key, cell in pairs(cells) do
    local isCounted = passedAll and cell.taken > 0
    if isCounted then cell.current = cell.current + cell.taken end
    cell.value = toValue(cell.sequence, cell.current, cell.previous)
    if isCounted then store(key, cell.value, cell.sequence, cell.duration) end
  end
  for i = first, last do answer[i] = looks[i] .. cells[KEYS[i]].value end
end

if ARGV[2] == '' then
  for i = 1, #KEYS do answer[i] = takeOne(i) end
else
  local first = 1
  for count in string.gmatch(ARGV[2], '%d+') do
    local last = first + count - 1
    takeAll(first, last)
    first = last + 1
  end
end
return answer

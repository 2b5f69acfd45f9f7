-- Takes the limits of several calls, each call all or nothing, as window.ts counts them: the same as if the
-- calls had come one after the other.
--
-- KEYS: one counter per limit, those of a call in a row; a key may occur more than once. Value:
--   "<sequence> <current> <previous>". The last key has the bytes of all counters of the workspace:
--   "<when they end> <bytes>" for each such time, rounded up by less than the duration so that there are few.
-- ARGV: the time in unix milliseconds ("": this server's clock, which all callers share), how many limits
--   each call has ("": one each), how many bytes of counters the workspace may have, then for each key: limit,
--   duration in ms, cost, and the caller's copy of the counter in the form of its value, or "".
--   The larger of copy and stored value is used: requests that passed while this server was away, or
--   whose counter it has lost or had no room for, still count.
-- Returns for each key "<passed> <used> <used by others> <sequence> <current> <previous>", and how often a
--   counter was not stored for lack of room: the caller's copy is then all there is.

local floor = math.floor
-- Lua itself would write large numbers as 1e+14 and lose digits.
local format = string.format

local nowMs = tonumber(ARGV[1])
if not nowMs then
  local time = redis.call('TIME')
  nowMs = time[1] * 1000 + floor(time[2] / 1000)
end

-- The counters, kept up to date: a command for all keys, and one for each that is counted. Of one that could not be
-- stored, `stored` has what Redis has instead; false: nothing.
local values, stored = {}, {}
for i, value in ipairs(redis.call('MGET', unpack(KEYS))) do values[KEYS[i]] = value end

-- Redis refuses a time to live beyond 63 bits.
local longestMs = 4e12

-- By duration, as text: the window of now, the share of the one before that still counts, and two texts that all
-- counters of the window have: the start of their value, and their time to live. Lua formats numbers slowly.
local moments = {}

local function momentOf(text)
  local moment = moments[text]
  if moment then return moment end
  local duration = tonumber(text)
  local sequence = floor(nowMs / duration)
  moment = {
    duration = duration,
    sequence = sequence,
    left = 1 - (nowMs % duration) / duration,
    start = format('%.0f ', sequence),
    -- As text: Redis 7.2.0 to 7.2.4 would write some whole numbers with an exponent, and then refuse them.
    ttl = format('%.0f', math.min(longestMs, (sequence + 2) * duration - nowMs)),
  }
  moments[text] = moment
  return moment
end

-- A counter's value as of the moment: current, previous.
local function rebase(value, moment)
  if not value or value == '' then return 0, 0 end
  local was, current, previous = string.match(value, '^(%S+) (%S+) (%S+)$')
  local age = moment.sequence - was
  if age == 0 or age == -1 then return tonumber(current), tonumber(previous) end
  if age == 1 then return 0, tonumber(current) end
  return 0, 0
end

local function read(key, known, moment)
  local stored = values[key]
  local current, previous = rebase(stored, moment)
  if known ~= '' and known ~= stored then
    local knownCurrent, knownPrevious = rebase(known, moment)
    current, previous = math.max(current, knownCurrent), math.max(previous, knownPrevious)
  end
  return current, previous
end

local function toValue(moment, current, previous)
  return moment.start .. format('%.0f %.0f', current, previous)
end

local sizes, total, unstored = nil, 0, 0

local function readSizes()
  sizes = {}
  for endsMs, bytes in string.gmatch(values[KEYS[#KEYS]] or '', '(%d+) (%d+)') do
    if tonumber(endsMs) > nowMs then
      sizes[tonumber(endsMs)] = tonumber(bytes)
      total = total + bytes
    end
  end
end

local function resize(sequence, duration, bytes)
  local _, exponent = math.frexp(duration)
  local step = 2 ^ (exponent - 1)
  local endsMs = math.ceil((sequence + 2) * duration / step) * step
  sizes[endsMs] = (sizes[endsMs] or 0) + bytes
  total = total + bytes
end

local function hasRoom(key, value, moment)
  local sequence, duration = moment.sequence, moment.duration
  if value and string.find(value, moment.start, 1, true) == 1 then return true end
  local was = value and tonumber(string.match(value, '^%S+'))
  if not sizes then readSizes() end
  -- Measured: what Redis needs for a key with a time to live, besides its name.
  local bytes = #key + 150
  if not was and total + bytes > tonumber(ARGV[3]) then return false end
  if was then resize(was, duration, -bytes) end
  resize(sequence, duration, bytes)
  return true
end

local function store(key, value, moment)
  local before = stored[key]
  if before == nil then before = values[key] end
  values[key] = value
  if not hasRoom(key, before, moment) then
    stored[key] = before or false
    unstored = unstored + 1
    return
  end
  redis.call('SET', key, value, 'PX', moment.ttl)
  stored[key] = nil
end

local function storeSizes()
  local text, lastMs = '', 0
  for endsMs, bytes in pairs(sizes) do
    if bytes > 0 then text = text .. format('%.0f %.0f ', endsMs, bytes) end
    lastMs = math.max(lastMs, endsMs)
  end
  redis.call('SET', KEYS[#KEYS], text, 'PX', format('%.0f', math.min(longestMs, lastMs - nowMs)))
end

local function argumentsOf(i)
  local at = 4 * i
  return tonumber(ARGV[at]), momentOf(ARGV[at + 1]), tonumber(ARGV[at + 2]), ARGV[at + 3]
end

-- A call with one limit, which nearly all have.
local function takeOne(i)
  local key = KEYS[i]
  local limit, moment, cost, known = argumentsOf(i)
  local current, previous = read(key, known, moment)
  local used = current
  if previous > 0 then used = current + floor(previous * moment.left) end
  local passed = limit > 0 and used + cost <= limit
  local isCounted = passed and cost > 0
  if isCounted then current = current + cost end
  local value = toValue(moment, current, previous)
  if isCounted then store(key, value, moment) end
  local usedText = format(' %.0f', used)
  return (passed and '1' or '0') .. usedText .. usedText .. ' ' .. value
end

local answer = {}

-- A call with the limits `first` to `last`.
local function takeAll(first, last)
  local cells, usages = {}, {}
  local passedAll = true
  for i = first, last do
    local key = KEYS[i]
    local limit, moment, cost, known = argumentsOf(i)
    local cell = cells[key]
    if not cell then
      local current, previous = read(key, known, moment)
      cell = { moment = moment, current = current, previous = previous, taken = 0 }
      cell.usedByOthers = current + floor(previous * moment.left)
      cells[key] = cell
    end
    local used = cell.usedByOthers + cell.taken
    local passed = limit > 0 and used + cost <= limit
    if passed then cell.taken = cell.taken + cost else passedAll = false end
    usages[i] = format('%d %.0f %.0f ', passed and 1 or 0, used, cell.usedByOthers)
  end
  for key, cell in pairs(cells) do
    local isCounted = passedAll and cell.taken > 0
    if isCounted then cell.current = cell.current + cell.taken end
    cell.value = toValue(cell.moment, cell.current, cell.previous)
    if isCounted then store(key, cell.value, cell.moment) end
  end
  for i = first, last do answer[i] = usages[i] .. cells[KEYS[i]].value end
end

if ARGV[2] == '' then
  for i = 1, #KEYS - 1 do answer[i] = takeOne(i) end
end
local first = 1
for count in string.gmatch(ARGV[2], '%d+') do
  takeAll(first, first + count - 1)
  first = first + count
end
if total > 0 then storeSizes() end
answer[#KEYS] = unstored
return answer

-- Requests for wrk, read from a file (see load.py), in turn, for ever; a number is put where they have room for one.
-- From the environment: REQUESTS (the file), PORTS (one for each thread), START (how many turns were taken before).

local ROOM = "@@@@@@@@@" -- nine digits
local index = 0

function setup(thread)
  local ports = {}
  for port in os.getenv("PORTS"):gmatch("%d+") do
    ports[#ports + 1] = port
  end
  thread:set("place", index)
  thread:set("places", #ports)
  thread.addr = wrk.lookup("127.0.0.1", ports[index % #ports + 1])[1]
  index = index + 1
end

function init()
  local file = assert(io.open(os.getenv("REQUESTS"), "rb"))
  texts, is_numbered, turn = {}, {}, tonumber(os.getenv("START")) + place
  for length in function() return file:read("*l") end do
    local text = file:read(tonumber(length))
    texts[#texts + 1] = text
    is_numbered[#texts] = text:find(ROOM, 1, true) ~= nil
  end
  file:close()
end

function request()
  local number, at = math.floor(turn / #texts), turn % #texts + 1
  turn = turn + places
  if is_numbered[at] then
    return (texts[at]:gsub(ROOM, ("%09d"):format(number)))
  end
  return texts[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(("\nRESULT %d %d %d %d %d\n"):format(
    summary.requests, summary.duration, latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end

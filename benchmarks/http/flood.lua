-- Requests for wrk with credentials that are all wrong and all different (see abuse.py): passwords, API tokens, JWTs.

local number, count = 0, 0

function init(args)
  number = tonumber(args[1])
end

local kinds = {
  function(n) return ("Basic QUxJQ0U6%09dAAA"):format(n % 1000000000) end,
  function(n) return ("Bearer cfr_%012d_%043dAAAAAA"):format(n, n) end,
  function(n) return ("Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4%d.AAAA"):format(n) end,
  function(n) return ("Basic !%d"):format(n) end,
}

function request()
  number, count = number + 1, count + 1
  wrk.headers["authorization"] = kinds[number % #kinds + 1](number)
  return wrk.format("GET")
end

function done(summary)
  local errors = summary.errors
  io.write(("\nRESULT %d %d %d\n"):format(
    summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end

-- Every request creates a different plant. The ids are those of plant-ids.ts: each
-- thread has its own stream, in ascending order.
local before = os.getenv("BENCH_REQUEST_BEFORE")
local after = os.getenv("BENCH_REQUEST_AFTER")
local first = tonumber(os.getenv("BENCH_FIRST_ID"))
local format = string.format

local threads = 0

function setup(thread)
  thread:set("thread", threads)
  threads = threads + 1
end

function init()
  id = first + thread * tonumber(os.getenv("BENCH_STREAM_STEP"))
end

function request()
  id = id + 2
  return before .. format("%.0f", id) .. after
end

function done(summary, latency)
  local e = summary.errors
  io.write(format('\n{"requests":%d,"us":%d,"status":%d,"socket":%d,"p50Us":%d,"p99Us":%d}\n',
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout,
    latency:percentile(50), latency:percentile(99)))
end

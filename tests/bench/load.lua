-- For wrk: asks one path again and again, with the tokens of a file in turn if one is named, and prints the figures in
-- one line: requests, microseconds, the 99th percentile of the latency in microseconds, answers of 400 and above, and
-- requests that failed otherwise.
local requests, last = {}, 0

function init(arguments)
    local path, tokens = arguments[1], arguments[2]
    if tokens then
        for token in io.lines(tokens) do
            requests[#requests + 1] = wrk.format("GET", path, { Authorization = "Bearer " .. token })
        end
    else
        requests[1] = wrk.format("GET", path)
    end
end

function request()
    last = last % #requests + 1
    return requests[last]
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format("figures: %d %d %d %d %d\n", summary.requests, summary.duration, latency:percentile(99),
        errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end

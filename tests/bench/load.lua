-- For wrk: asks one path again and again, with the tokens of a file in turn if one is named (as a verifier with these
-- credentials, if any, asks about them), and prints the figures in
-- one line: requests, microseconds, the 99th percentile of the latency in microseconds, answers of 400 and above, and
-- requests that failed otherwise.
local requests, last = {}, 0

function init(arguments)
    local path, tokens, verifier = arguments[1], arguments[2], arguments[3]
    local verifier_headers = verifier and {
        Authorization = "Basic " .. verifier,
        ["Content-Type"] = "application/x-www-form-urlencoded",
    }
    if tokens then
        for token in io.lines(tokens) do
            if verifier then
                requests[#requests + 1] = wrk.format("POST", path, verifier_headers, "token=" .. token)
            else
                requests[#requests + 1] = wrk.format("GET", path, { Authorization = "Bearer " .. token })
            end
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

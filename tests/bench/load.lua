-- For wrk: asks one path again and again, with the tokens of a file in turn if one is named, and prints the figures in one
-- line: requests, microseconds, the 99th percentile of the latency in microseconds, answers of 400 and above, and requests
-- that failed otherwise. In the header and the body, `*` stands for the token.
local requests, last = {}, 0

function init(arguments)
    local path, tokens, method, header, value, content_type, body = unpack(arguments)
    local function request_with(token)
        local with_token = function(text) return (text:gsub("%*", token)) end
        local headers = {}
        if header ~= "" then
            headers[header] = with_token(value)
        end
        if body ~= "" then
            headers["Content-Type"] = content_type
            return wrk.format(method, path, headers, with_token(body))
        end
        return wrk.format(method, path, headers)
    end
    if tokens ~= "" then
        for token in io.lines(tokens) do
            requests[#requests + 1] = request_with(token)
        end
    else
        requests[1] = request_with("")
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

-- Asks Keyward about a request, with HAProxy's own HTTP client (2.5 and later; no other package is needed).
--
-- For /etc/haproxy/keyward.lua, which haproxy.cfg loads. Replace 127.0.0.1:8080 (Keyward). For the members of one project
-- only: http://127.0.0.1:8080/api/v1/auth?project=ID

local URL = "http://127.0.0.1:8080/api/v1/auth"

-- In milliseconds, once connected. HAProxy asks up to four times, so a Keyward that does not answer is 503 after 2 s, and
-- one that refuses connections after 3 s.
local TIMEOUT = 500

-- The headers of Keyward's answer that variables get: when it refuses, and when it accepts.
local REFUSAL = {
    ["txn.keyward_challenge"] = "www-authenticate",
    ["txn.keyward_retry_after"] = "retry-after",
}
local IDENTITY = {
    ["txn.consumer_id"] = "x-consumer-id",
    ["txn.consumer_username"] = "x-consumer-username",
    ["txn.credential_identifier"] = "x-credential-identifier",
    ["txn.organization_id"] = "x-organization-id",
    ["txn.organization_slug"] = "x-organization-slug",
}

core.register_action("keyward", { "http-req" }, function(txn)
    local headers = { ["x-forwarded-for"] = { txn.sf:src() } }
    -- All of them, so that Keyward refuses a request with two keys. HAProxy counts from 0.
    local authorization = txn.http:req_get_headers()["authorization"]
    if authorization then
        headers["authorization"] = {}
        for i = 0, #authorization do
            table.insert(headers["authorization"], authorization[i])
        end
    end
    local answer = core.httpclient():get { url = URL, headers = headers, timeout = TIMEOUT }
    if not answer or not answer.headers then
        return
    end
    for variable, header in pairs(REFUSAL) do
        local values = answer.headers[header]
        if values then
            txn:set_var(variable, values[0])
        end
    end
    if answer.status == 200 then
        for variable, header in pairs(IDENTITY) do
            local values = answer.headers[header]
            -- Another server at Keyward's address may answer 200, too.
            if not values or values[0] == "" then
                return
            end
            txn:set_var(variable, values[0])
        end
    end
    txn:set_var("txn.keyward_status", answer.status)
end)

-- Asks Keyward about a request, with LuaSocket (Debian's package lua-socket). A thread of Apache waits for the answer.
--
-- For /etc/apache2/keyward.lua, which apache.conf names. Replace 127.0.0.1:8080 (Keyward). For the members of one project
-- only: http://127.0.0.1:8080/api/v1/auth?project=ID

local http = require "socket.http"
local ltn12 = require "ltn12"

local URL = "http://127.0.0.1:8080/api/v1/auth"

-- In seconds. Without an answer by then, the request is answered 503.
http.TIMEOUT = 2

local IDENTITY = {
    "x-consumer-id",
    "x-consumer-username",
    "x-credential-identifier",
    "x-organization-id",
    "x-organization-slug",
}

-- How the headers begin that a service takes from a gateway: Keyward's, others that Kong sets, and those of proxies. If your
-- service trusts others, name them here.
local REMOVED = {
    "x-consumer-",
    "x-credential-",
    "x-organization-",
    "x-anonymous-consumer",
    "x-authenticated-",
    "x-forwarded-",
    "x-real-ip",
    "forwarded",
}

-- What the client sent, and every header whose name has anything but letters, digits and `-`: some services (CGI, WSGI, PHP)
-- take X_Consumer_ID or X.Consumer.ID for the same header as X-Consumer-ID.
local function remove_identity(r)
    for name in pairs(r:headers_in_table()) do
        local removed = name:find("[^A-Za-z0-9-]")
        for _, start in ipairs(REMOVED) do
            removed = removed or name:lower():find(start, 1, true) == 1
        end
        if removed then
            r.headers_in[name] = nil
        end
    end
end

-- Over HTTP/2 (h2c) in an upgraded connection, a client would send the service requests with headers of its own, about
-- which Keyward is not asked.
local function remove_upgrade(r)
    r.headers_in["Upgrade"] = nil
    r.headers_in["HTTP2-Settings"] = nil
end

-- Apache would remove every header that the client names in Connection, also one that Keyward has set.
local function keep_named_headers(r)
    local connection = r.headers_in["Connection"]
    if connection then
        r.headers_in["Connection"] = connection:lower():find("close", 1, true) and "close" or nil
    end
end

-- Whom the request comes from, if Keyward's answer says all of it.
local function set_identity(r, headers)
    for _, header in ipairs(IDENTITY) do
        if (headers[header] or "") == "" then
            return 503
        end
        r.headers_in[header] = headers[header]
    end
    return apache2.OK
end

function ask_keyward(r)
    -- Services differ in whether CONNECT has a body. One that takes the body for requests would get them as the client sends
    -- them, and Keyward is not asked about them.
    if r.method == "CONNECT" then
        return 405
    end
    remove_identity(r)
    remove_upgrade(r)
    keep_named_headers(r)
    local ok, status, headers = http.request {
        url = URL,
        redirect = false,
        -- Without a sink, LuaSocket fails on what is no HTTP.
        sink = ltn12.sink.null(),
        headers = {
            ["authorization"] = r.headers_in["Authorization"],
            ["x-forwarded-for"] = r.useragent_ip,
        },
    }
    -- LuaSocket takes what is no HTTP for an answer without headers.
    if not ok or not headers then
        r.err_headers_out["Retry-After"] = "5"
        return 503
    end
    if status == 200 then
        return set_identity(r, headers)
    end
    r.err_headers_out["WWW-Authenticate"] = headers["www-authenticate"]
    r.err_headers_out["Retry-After"] = headers["retry-after"]
    if status == 401 or status == 403 or status == 429 then
        return status
    end
    return 503
end

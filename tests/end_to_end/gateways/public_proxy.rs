//! Proxies before Keyward, as `docs/behind-a-proxy.md` configures them.

use std::path::Path;

use tokio::process::Command;

use super::answer::values;
use super::gateway::Gateway;
use super::programs::{caddy, free_address, haproxy, new_folder, nginx};
use super::service::Service;
use crate::others::run;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;

/// The page's block in a language, for Keyward at this address.
fn configuration(language: &str, keyward: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/behind-a-proxy.md");
    let page = std::fs::read_to_string(path).expect("a page");
    let (_, rest) = page
        .split_once(&format!("```{language}\n"))
        .expect("a configuration");
    let (configuration, _) = rest.split_once("```").expect("its end");
    replace(configuration, "127.0.0.1:8080", keyward)
}

#[track_caller]
fn replace(configuration: &str, part: &str, with: &str) -> String {
    assert!(configuration.contains(part), "no {part} to replace");
    configuration.replace(part, with)
}

impl Gateway {
    /// Starts nginx before Keyward, without TLS.
    pub(crate) async fn nginx_before(keyward: &str) -> Self {
        let (folder, address) = (new_folder(), free_address());
        let log = format!("{}/log", folder.path().display());
        let site = configuration("nginx", keyward);
        let site = replace(&site, "listen 443 ssl", &format!("listen {address}"));
        let site = replace(&site, "/var/log/nginx/keyward.log", &log);
        Self::run(nginx(folder.path(), &site), folder, address).await
    }

    /// Starts HAProxy before Keyward, without TLS.
    async fn haproxy_before(keyward: &str) -> Self {
        let (folder, address) = (new_folder(), free_address());
        let site = configuration("haproxy", keyward);
        let tls = "bind :443 ssl crt /etc/haproxy/keys.example.com.pem";
        let site = replace(&site, tls, &format!("bind {address}"));
        let times = "defaults\n    timeout client 10s\n    timeout connect 10s\n    timeout server 10s\n";
        Self::run(haproxy(folder.path(), &format!("{times}{site}")), folder, address).await
    }

    /// Starts Caddy before Keyward, without TLS.
    async fn caddy_before(keyward: &str) -> Self {
        let (folder, address) = (new_folder(), free_address());
        let site = configuration("caddyfile", keyward);
        let site = replace(&site, "keys.example.com {", &format!("http://{address} {{"));
        Self::run(caddy(folder.path(), &site), folder, address).await
    }
}

/// The status of a request whose path is sent as it stands here.
async fn status(base_url: &str, path: &str, token: &str) -> String {
    run(Command::new("curl")
        .args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"])
        .args(["--path-as-is", "--globoff", "--max-time", "30"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .arg(format!("{base_url}{path}")))
    .await
}

/// For every path that the proxy passes on.
#[tokio::test(flavor = "multi_thread")]
async fn public_proxies_answer_no_question_of_a_gateway() {
    let keyward = Keyward::start_set_up_with(&["--trusted-proxy", "127.0.0.1"]).await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let token = api.token().expect("a token");
    assert_eq!(
        status(keyward.base_url(), "/api/v1/auth/orders", token).await,
        "200"
    );
    let at = keyward.authority();
    for proxy in [
        Gateway::nginx_before(at).await,
        Gateway::haproxy_before(at).await,
        Gateway::caddy_before(at).await,
    ] {
        let base_url = format!("http://{}", proxy.address());
        assert_eq!(status(&base_url, "/api/v1/user", token).await, "200");
        for path in [
            "/api/v1/auth",
            "/api/v1/auth/orders",
            "/api/v1/%61uth",
            "/api/v1/auth?project=1",
            "/api/v1/auth/../user",
            "/api/v1/auth/%2e%2e/user",
            "/api/v1/auth/..%2Fuser",
            "/api/v1/%61uth/..%2fuser",
            "/api/v1/auth/%zz",
            "/api/v1/%61uth/%",
            "/api/v1//auth",
            "/API/v1/auth",
        ] {
            let refused = status(&base_url, path, token).await;
            assert!(["400", "404"].contains(&&*refused), "{base_url}{path}: {refused}");
        }
        proxy.end().await;
    }
}

/// Bytes after it may reach Keyward unchanged, before the requests of others on the same connection. The
/// service here would answer 200.
#[tokio::test(flavor = "multi_thread")]
async fn public_proxies_pass_no_connect_on() {
    let service = Service::echo().await;
    let at = service.address.to_string();
    for (proxy, refusal) in [
        (Gateway::nginx_before(&at).await, "400"),
        (Gateway::haproxy_before(&at).await, "405"),
        (Gateway::caddy_before(&at).await, "405"),
    ] {
        let address = proxy.address();
        let status = run(Command::new("curl")
            .args(["--silent", "--output", "/dev/null", "--write-out", "%{http_code}"])
            .args(["--request", "CONNECT", "--request-target", &address.to_string()])
            .args(["--max-time", "30", &format!("http://{address}")]))
        .await;
        assert_eq!(status, refusal, "{address}");
        proxy.end().await;
    }
}

/// With `--trusted-proxy`, Keyward trusts the proxy's request id, trace and address. Here a service that
/// echoes its request takes Keyward's place.
#[tokio::test(flavor = "multi_thread")]
async fn public_proxies_keep_the_clients_headers_from_keyward() {
    let service = Service::echo().await;
    let at = service.address.to_string();
    let (trace, address) = ("0af7651916cd43dd8448eb211c80319c", "203.0.113.9");
    let headers = [
        format!("Traceparent: 00-{trace}-b7ad6b7169203331-01"),
        format!("Tracestate: vendor={trace}"),
        format!("X-Request-Id: {trace}"),
        format!("X-Forwarded-For: {address}"),
    ];
    let headers = headers.iter().flat_map(|header| ["--header", header.as_str()]);
    let headers: Vec<&str> = headers.collect();
    for proxy in [
        Gateway::nginx_before(&at).await,
        Gateway::haproxy_before(&at).await,
        Gateway::caddy_before(&at).await,
    ] {
        let url = format!("http://{}/api/v1/user", proxy.address());
        let request = run(Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "30"])
            .args(&headers)
            .arg(&url))
        .await;
        assert!(
            request.starts_with("GET /api/v1/user HTTP/1.1\r\n"),
            "{url}: {request}"
        );
        assert!(!request.contains(trace), "{url}: {request}");
        assert_eq!(values(&request, "X-Request-Id").len(), 1, "{url}: {request}");
        assert_eq!(
            values(&request, "X-Forwarded-For"),
            ["127.0.0.1"],
            "{url}: {request}"
        );
        proxy.end().await;
    }
}

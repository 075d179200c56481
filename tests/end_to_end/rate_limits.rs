//! How often the running server allows requests.

use std::net::{IpAddr, Ipv4Addr};

use reqwest::{Client, Response};

use crate::gateways::gateway::Gateway;
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;

const ME: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Asks who a token acts as, from an address of this machine.
async fn ask(base_url: &str, token: &str, from: Ipv4Addr) -> Response {
    let client = Client::builder().local_address(IpAddr::from(from)).build();
    let client = client.expect("a client");
    let request = client.get(format!("{base_url}/api/v1/user")).bearer_auth(token);
    request.send().await.expect("an answer")
}

fn header<'a>(answer: &'a Response, name: &str) -> Option<&'a str> {
    let value = answer.headers().get(name)?;
    value.to_str().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn default_limit_slows_a_guessing_address_but_no_valid_key() {
    let keyward = Keyward::start_set_up().await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let token = api.token().expect("a token");
    // Sixty a minute: on any machine that answers more than one guess a second, some are refused.
    let mut statuses = Vec::new();
    for number in 0..600 {
        let refused = ask(keyward.base_url(), &format!("kwp_{number}"), ME).await;
        statuses.push(refused.status().as_u16());
        if refused.status() != 429 {
            continue;
        }
        assert_eq!(header(&refused, "retry-after"), Some("1"));
        assert_eq!(
            header(&refused, "ratelimit"),
            Some(r#""failed-authentication";r=0;t=1"#)
        );
        assert_eq!(
            header(&refused, "ratelimit-policy"),
            Some(r#""failed-authentication";q=60;w=60"#)
        );
        break;
    }
    assert!(statuses.len() > 60 && statuses[..60].iter().all(|status| *status == 401));
    assert_eq!(statuses.last(), Some(&429));
    for _ in 0..20 {
        let accepted = ask(keyward.base_url(), token, ME).await;
        assert_eq!(accepted.status(), 200);
        assert_eq!(header(&accepted, "ratelimit"), None);
    }
    assert_eq!(ask(keyward.base_url(), "kwp_x", ELSEWHERE).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_limit_is_reported_and_enforced() {
    let options = ["--limit-per-key", "3/1h", "--limit-per-organization", "1000/1m"];
    let keyward = Keyward::start_set_up_with(&options).await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let token = api.token().expect("a token");
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let answer = ask(keyward.base_url(), token, ME).await;
        let limit = header(&answer, "ratelimit").expect("a limit").to_owned();
        assert!(limit.starts_with(r#""key";r="#), "{limit}");
        assert!(header(&answer, "ratelimit-policy").is_some_and(|policy| policy.contains("q=3;w=3600")));
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
}

/// nginx as `docs/behind-a-proxy.md` configures it, which limits clients by their addresses.
#[tokio::test(flavor = "multi_thread")]
async fn clients_behind_a_trusted_proxy_are_counted_separately() {
    let options = [
        "--trusted-proxy",
        "127.0.0.1",
        "--limit-failed-authentication",
        "3/1h",
    ];
    let keyward = Keyward::start_set_up_with(&options).await;
    let api = PlainConsole::sign_in_owner(&keyward).await;
    let api = api.api_with_first_key().await;
    let token = api.token().expect("a token");
    let nginx = Gateway::nginx_before(keyward.authority()).await;
    let proxy = format!("http://{}", nginx.address());
    let status = async |token: &str, from| ask(&proxy, token, from).await.status().as_u16();
    let (guesser, other) = (ELSEWHERE, Ipv4Addr::new(127, 0, 0, 3));
    for expected in [401, 401, 401, 429, 429] {
        assert_eq!(status("kwp_x", guesser).await, expected);
    }
    assert_eq!(status("kwp_x", other).await, 401);
    assert_eq!(status(token, guesser).await, 200);
    assert_eq!(status(token, other).await, 200);
    nginx.end().await;
}

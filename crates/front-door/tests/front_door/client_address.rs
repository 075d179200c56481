//! The client's address, as the application sees it.

use keyward_front_door::{ForwardedHeader, TrustedProxies};

use crate::running::Running;

async fn address_seen_with(proxies: TrustedProxies, headers: &str) -> String {
    answer_with(proxies, "/address", headers).await
}

async fn answer_with(proxies: TrustedProxies, path: &str, headers: &str) -> String {
    let door = Running::with(|config| config.trusted_proxies = proxies).await;
    let mut client = door.client().await;
    client
        .send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"))
        .await;
    client.answer().await.body
}

fn local_and_private(header: ForwardedHeader) -> TrustedProxies {
    TrustedProxies {
        networks: vec!["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()],
        header,
    }
}

#[tokio::test]
async fn forged_client_address_without_trusted_proxies_is_ignored() {
    let forged = "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\n";
    let seen = address_seen_with(TrustedProxies::default(), forged).await;
    assert!(seen.starts_with("127.0.0.1:"), "{seen}");
    assert!(!seen.ends_with(":0"), "{seen}");
}

#[tokio::test]
async fn rightmost_untrusted_hop_behind_trusted_proxies_is_the_client() {
    let headers = "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\nX-Forwarded-For: 10.0.0.7\r\n";
    assert_eq!(
        address_seen_with(local_and_private(ForwardedHeader::XForwardedFor), headers).await,
        "192.0.2.1:0"
    );
    let headers = "Forwarded: for=6.6.6.6, for=\"[2001:db8::1]:4711\"\r\nForwarded: for=10.0.0.7\r\n";
    assert_eq!(
        address_seen_with(local_and_private(ForwardedHeader::Forwarded), headers).await,
        "[2001:db8::1]:4711"
    );
}

#[tokio::test]
async fn invalid_hop_from_a_proxy_leaves_the_last_trusted_address() {
    let headers = "X-Forwarded-For: 192.0.2.1, <script>, 10.0.0.7\r\n";
    assert_eq!(
        address_seen_with(local_and_private(ForwardedHeader::XForwardedFor), headers).await,
        "10.0.0.7:0"
    );
}

#[tokio::test]
async fn peer_is_known_where_a_trusted_proxy_names_the_client() {
    let proxies = || local_and_private(ForwardedHeader::XForwardedFor);
    let headers = "X-Forwarded-For: 192.0.2.1\r\n";
    assert_eq!(answer_with(proxies(), "/peer", headers).await, "127.0.0.1");
    let on_its_machine = "X-Forwarded-For: 127.0.0.1\r\n";
    assert_eq!(answer_with(proxies(), "/peer", on_its_machine).await, "127.0.0.1");
    assert_eq!(answer_with(proxies(), "/peer", "").await, "the client");
    let untrusted = answer_with(TrustedProxies::default(), "/peer", headers).await;
    assert_eq!(untrusted, "the client");
}

#[tokio::test]
async fn ipv4_peer_of_a_dual_stack_listener_is_the_client() {
    let door = Running::on_both_families(|_| ()).await;
    let mut client = door.client().await;
    client.ask("/peer").await;
    assert_eq!(client.answer().await.body, "the client");
}

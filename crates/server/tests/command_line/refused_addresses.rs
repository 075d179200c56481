//! Addresses that cannot be listened on, or cannot be where people reach the server. Nothing is made for
//! them.

use std::net::TcpListener;

use keyward_test_database::TestDatabase;

use crate::data_directory::DataDirectory;
use crate::keyward::Keyward;
use crate::needing_a_database::contents;

#[tokio::test]
async fn busy_port_is_named_and_the_database_unchanged() {
    let busy = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    let database = TestDatabase::empty().await.unwrap();
    let directory = DataDirectory::new("busy-port");
    let serve = || Keyward::new(&["serve", "--listen", &address]);
    for answer in [
        serve().database(database.url()).run(),
        serve().data_directory(directory.path()).run(),
    ] {
        assert_eq!(
            answer.refusal(),
            format!(
                "cannot listen on {address} (choose another address with --listen): Address already in use (os error 98)"
            )
        );
    }
    assert_eq!(contents(&database).await, Vec::<String>::new());
    assert!(!directory.path().exists());
}

#[test]
fn address_of_another_machine_is_named() {
    let directory = DataDirectory::new("foreign-address");
    // An address for documentation (RFC 5737), which no machine has.
    let answer = directory.run(&["serve", "--listen=203.0.113.1:8080"], "");
    assert_eq!(
        answer.refusal(),
        "cannot listen on 203.0.113.1:8080 (choose another address with --listen): Cannot assign requested address (os \
         error 99)"
    );
    assert!(!directory.path().exists());
}

#[test]
fn invalid_listen_address_is_a_usage_error_with_example() {
    for address in [
        "8080",
        ":8080",
        "127.0.0.1",
        "localhost:8080",
        "127.0.0.1:99999",
        "http://127.0.0.1:8080",
        "",
    ] {
        let directory = DataDirectory::new("listen");
        let answer = directory.run(&["serve", "--listen", address], "");
        assert_eq!(answer.code, Some(2), "{answer:?}");
        assert!(
            answer.errors.starts_with(&format!(
                "error: invalid value '{address}' for '--listen <ADDRESS:PORT>': expected an IP address, not a name, and \
                 a port: 127.0.0.1:8080, "
            )),
            "{answer:?}"
        );
        assert!(!directory.path().exists());
    }
}

#[test]
fn public_url_without_https_or_with_a_path_is_rejected() {
    for (url, reason) in [
        ("http://keys.example.com", "must begin with https://"),
        ("http://192.168.1.2:8080", "must begin with https://"),
        ("ftp://keys.example.com", "must begin with https://"),
        (
            "https://keys.example.com/keyward",
            "must end after the host and port",
        ),
        ("keys.example.com", "not a URL: expected https://HOST"),
        (
            "https://me:s3cret@keys.example.com",
            "must not contain a user name or password",
        ),
    ] {
        for command in [
            &["serve", "--listen=127.0.0.1:0", "--public-url", url][..],
            &["admin", "setup-link", "--public-url", url],
        ] {
            let directory = DataDirectory::new("public-url");
            let answer = directory.run(command, "");
            let refusal = answer.refusal_of_options();
            assert!(
                refusal.starts_with("the public URL (--public-url, KEYWARD_PUBLIC_URL) is refused: "),
                "{refusal}"
            );
            assert!(refusal.contains(reason), "{refusal}");
            assert!(!directory.path().exists(), "{url}");
        }
    }
}

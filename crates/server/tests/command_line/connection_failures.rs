//! PostgreSQL that is away is waited for a little; PostgreSQL that refuses is not. Either ends in one
//! sentence.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use keyward_test_database::TestDatabase;

use crate::keyward::Keyward;
use crate::needing_a_database::{NEEDING_A_DATABASE, UNREACHABLE, contents};

const GAVE_UP: &str = "gave up after 5 seconds: the database cannot be reached (check that it runs, and the \
                       host and port in the database URL): ";

/// Begins to listen on a free port; its address.
fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[test]
fn unreachable_database_fails_with_hint() {
    // It accepts every connection and sends nothing.
    let (_silent, silent) = listen();
    let silent_url = format!("postgres://keyward:s3cret@{silent}/keyward");
    let nowhere = "postgres://keyward:s3cret@no-such-host.invalid/keyward";
    let serve: &[&str] = &["serve", "--listen=127.0.0.1:0"];
    thread::scope(|scope| {
        for (command, url, reason) in [
            (
                serve,
                UNREACHABLE,
                "127.0.0.1:1: error connecting to server: Connection refused (os error 111)",
            ),
            (
                &["migrate"],
                UNREACHABLE,
                "127.0.0.1:1: error connecting to server: Connection refused (os error 111)",
            ),
            (&["migrate"], nowhere, "no-such-host.invalid:5432: "),
            (
                &["migrate"],
                &silent_url,
                &format!("{silent}: the database did not answer in time"),
            ),
        ] {
            let reason = format!("{GAVE_UP}{reason}");
            scope.spawn(move || {
                let begun = Instant::now();
                let answer = Keyward::new(command).database(url).run();
                assert!(answer.refusal().starts_with(&reason), "{answer:?}");
                assert!(begun.elapsed() >= Duration::from_secs(5), "it did not wait");
                assert!(
                    begun.elapsed() < Duration::from_secs(20),
                    "it waited for too long"
                );
            });
        }
    });
}

/// `postgres://user:password@server/name` with another user and database.
fn other(url: &str, user: &str, name: &str) -> String {
    let (_, server_and_name) = url.rsplit_once('@').unwrap();
    let (server, _) = server_and_name.split_once('/').unwrap();
    format!("postgres://{user}@{server}/{name}")
}

#[tokio::test]
async fn unknown_user_or_database_fails_every_command_immediately() {
    let database = TestDatabase::empty().await.unwrap();
    let unknown_user = other(database.url(), "keyward_nobody:s3cret", database.name());
    let unknown_name = format!("{}_gone", database.url());
    for (url, sentence) in [
        (
            unknown_user,
            "the database server refuses the user or password (check both in the database URL): ",
        ),
        (
            unknown_name,
            "the database does not exist (create it, or check the name at the end of the database URL): database \"",
        ),
    ] {
        for command in NEEDING_A_DATABASE {
            let begun = Instant::now();
            let answer = Keyward::new(command).database(&url).run();
            assert!(answer.refusal().starts_with(sentence), "{command:?}: {answer:?}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{command:?} waited");
        }
    }
    assert_eq!(contents(&database).await, Vec::<String>::new());
}

/// Answers the first message of each client, which begins with its length.
fn answer_each_client(listener: TcpListener, answer: Vec<u8>) {
    let answer_one = move |mut client: TcpStream| {
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut rest = vec![0; u32::from_be_bytes(length) as usize - length.len()];
        client.read_exact(&mut rest)?;
        client.write_all(&answer)
    };
    thread::spawn(move || {
        for client in listener.incoming() {
            answer_one(client.unwrap()).unwrap();
        }
    });
}

#[test]
fn wrong_password_or_pg_hba_rejection_fails_immediately() {
    for (code, message, sentence) in [
        (
            "28P01",
            "password authentication failed for user \"me\"",
            "the database server refuses the user or password (check both in the database URL): ",
        ),
        (
            "42501",
            "permission denied for database \"keyward\"",
            "this database role may not connect to the database (grant it CONNECT, or check both in the database URL): ",
        ),
        (
            "28000",
            "no pg_hba.conf entry for host \"10.0.0.1\", user \"me\", database \"keyward\", no encryption",
            "pg_hba.conf has no entry for this connection (check it on the database server, and sslmode in the database URL): ",
        ),
    ] {
        let (listener, address) = listen();
        // ErrorResponse (PostgreSQL documentation, §55.7).
        let fields = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0\0");
        let length = u32::try_from(4 + fields.len()).unwrap().to_be_bytes();
        answer_each_client(listener, [&b"E"[..], &length, fields.as_bytes()].concat());
        let url = format!("postgres://me:s3cret@{address}/keyward?sslmode=disable");
        let begun = Instant::now();
        let answer = Keyward::new(&["migrate"]).database(&url).run();
        assert_eq!(answer.refusal(), format!("{sentence}{message}"));
        assert!(begun.elapsed() < Duration::from_secs(5), "it waited");
    }
}

#[test]
fn missing_password_fails_immediately() {
    let (listener, address) = listen();
    // AuthenticationCleartextPassword.
    answer_each_client(listener, b"R\0\0\0\x08\0\0\0\x03".to_vec());
    let url = format!("postgres://me@{address}/keyward?sslmode=disable");
    assert_eq!(
        Keyward::new(&["migrate"]).database(&url).run().refusal(),
        "the database server refuses the user or password (check both in the database URL): the password is missing"
    );
}

#[test]
fn required_tls_on_a_server_without_it_fails_immediately() {
    let (listener, address) = listen();
    // The answer to an SSLRequest.
    answer_each_client(listener, b"N".to_vec());
    let url = format!("postgres://me:s3cret@{address}/keyward?sslmode=require");
    let begun = Instant::now();
    assert_eq!(
        Keyward::new(&["migrate"]).database(&url).run().refusal(),
        "TLS to the database server fails (check sslmode and sslrootcert in the database URL, and the server's \
         certificate): server does not support TLS"
    );
    assert!(begun.elapsed() < Duration::from_secs(5), "it waited");
}

#[test]
fn unreadable_root_certificates_are_named() {
    let url = format!("{UNREACHABLE}?sslmode=verify-full&sslrootcert=/nowhere/root.pem");
    assert_eq!(
        Keyward::new(&["migrate"]).database(&url).run().refusal(),
        "TLS to the database is not possible: sslrootcert /nowhere/root.pem: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn missing_privilege_to_create_tables_fails_with_advice() {
    let database = TestDatabase::empty().await.unwrap();
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    // A role of every server's own, so that none is left behind.
    let url = format!("{}?options=-c%20role%3Dpg_monitor", database.url());
    assert_eq!(
        Keyward::new(&["migrate"]).database(&url).run().refusal(),
        "the database's user lacks a right that migrations need (make it the owner of the database, or migrate as the \
         owner): permission denied for schema public"
    );
    assert_eq!(contents(&database).await, Vec::<String>::new());
}

#[tokio::test]
async fn tables_of_another_application_are_unchanged() {
    let database = TestDatabase::empty().await.unwrap();
    let (client, connection) = tokio_postgres::connect(database.url(), tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE api_keys (mine integer); INSERT INTO api_keys VALUES (1)")
        .await
        .unwrap();
    drop(client);
    connection.await.unwrap().unwrap();
    let answer = Keyward::new(&["migrate"]).database(database.url()).run();
    let sentence = "a migration failed and was rolled back (the database must be empty, or Keyward's own): ";
    assert!(answer.refusal().starts_with(sentence), "{answer:?}");
    let left = contents(&database).await;
    assert!(left.contains(&"api_keys 1".to_owned()), "{left:?}");
    assert!(
        !left.iter().any(|name| name.starts_with("organizations")),
        "{left:?}"
    );
}

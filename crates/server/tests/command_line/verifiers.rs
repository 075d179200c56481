//! Services that introspect tokens: their credentials, and the file that names them.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::browser::{cookie, create_key, sign_in};
use crate::data_directory::DataDirectory;
use crate::keyward::{Answer, Keyward};
use crate::server::{HttpAnswer, Server};
use crate::setup::PASSWORD;

/// A secret, and its line in the file of verifiers.
fn create(name: &str) -> (String, String) {
    let Answer { code, output, errors } = Keyward::new(&["verifier", "create", name]).run();
    assert_eq!(code, Some(0), "{errors}");
    let secret = errors.trim_end().rsplit(' ').next().unwrap().to_owned();
    assert!(
        output.starts_with(&format!("{name}:")) && output.ends_with('\n'),
        "{output}"
    );
    assert!(!output.contains(&secret), "the file must not hold the secret");
    (secret, output)
}

fn introspect(server: &Server, name: &str, secret: &str, token: &str) -> HttpAnswer {
    let credentials = STANDARD.encode(format!("{name}:{secret}"));
    let headers = [
        &*format!("Authorization: Basic {credentials}"),
        "Content-Type: application/x-www-form-urlencoded",
    ];
    server.ask("POST", "/api/v1/introspect", &headers, &format!("token={token}"))
}

fn serve(data_directory: &Path, file: &Path) -> Keyward {
    Keyward::new(&["serve", "--listen", "127.0.0.1:0"])
        .data_directory(data_directory)
        .variable("KEYWARD_VERIFIERS", file.to_str().unwrap())
}

fn refusal_of(file: &Path) -> String {
    let directory = DataDirectory::new("verifiers-refused");
    serve(directory.path(), file).run().refusal().to_owned()
}

#[test]
fn created_secrets_differ_and_bad_names_are_refused() {
    let (first, second) = (create("orders"), create("orders"));
    assert_ne!(first.0, second.0);
    assert_eq!(first.0.len(), 64);
    for name in ["", "a b", "a:b"] {
        let answer = Keyward::new(&["verifier", "create", name]).run();
        assert_eq!((answer.code, &*answer.output), (Some(2), ""), "{name:?}");
    }
}

#[test]
fn verifiers_introspect_and_their_file_is_reloaded_while_serving() {
    let directory = DataDirectory::new("verifiers");
    directory.bootstrap().success();
    let file = directory.path().join("verifiers");
    let [(old, old_line), (new, new_line)] = [create("orders"), create("orders")];
    fs::write(&file, format!("# Services\n\n{old_line}")).unwrap();
    let mut server = Server::listening_as(serve(directory.path(), &file));
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let page = create_key(&server, cookie(&signed_in), "first").body;
    let token = &page[page.find("kwp_").unwrap()..][..42];

    let answer = introspect(&server, "orders", &old, token);
    assert_eq!((answer.status, &answer.json()["username"]), (200, &"ada".into()));
    assert_eq!(introspect(&server, "orders", &new, token).status, 401);

    fs::write(&file, new_line).unwrap();
    assert_eq!(server.event("watched file read again")["count"], 1);
    assert_eq!(introspect(&server, "orders", &new, token).status, 200);
    let refused = introspect(&server, "orders", &old, token);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (401, &"invalid_client".into())
    );

    fs::write(&file, "orders:hunter2").unwrap();
    let failure = server.event("watched file was not read again; keeping its previous content");
    assert_eq!(
        (&failure["level"], &failure["records"]),
        (&"ERROR".into(), &"verifiers".into())
    );
    let cause = failure["cause"].as_str().unwrap();
    assert!(cause.contains("line 1") && !cause.contains("hunter2"), "{cause}");
    let answer = introspect(&server, "orders", &new, token);
    assert_eq!(answer.json()["active"], true);
}

#[test]
fn server_refuses_to_start_with_an_unusable_verifier_file() {
    let directory = DataDirectory::new("verifier-files");
    fs::create_dir_all(directory.path()).unwrap();
    let file = directory.path().join("verifiers");
    assert!(refusal_of(&file).contains("cannot read"), "it is not there");
    assert!(refusal_of(directory.path()).contains("no regular file"));
    for (content, words) in [
        (
            b"# fine\nhunter2\n".to_vec(),
            ["line 2", "keyward verifier create"],
        ),
        (b"orders:hunter2".to_vec(), ["line 1", "keyward verifier create"]),
        (b"\n\n\xff".to_vec(), ["line 3", "UTF-8"]),
        (vec![b'\n'; 1024 * 1024 + 1], ["1 MiB", "--verifiers"]),
    ] {
        fs::write(&file, &content).unwrap();
        let refusal = refusal_of(&file);
        for word in words {
            assert!(refusal.contains(word), "{refusal}");
        }
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
    fs::write(&file, vec![b'\n'; 1024 * 1024]).unwrap();
    let server = Server::listening_as(serve(&directory.path().join("data"), &file));
    assert_eq!(introspect(&server, "orders", "x", "x").status, 401);
}

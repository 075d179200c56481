//! Services behind real gateways that ask Keyward, configured by the very files of `docs/gateways`.

mod answer;
mod failures;
pub(crate) mod gateway;
mod programs;
mod protocol_switch;
mod public_proxy;
mod service;

use answer::values;
use gateway::{Gateway, OTHER_HOST, Program};
use service::Service;

use keyward_tests::api::{Api, text};
use keyward_tests::console::PlainConsole;
use keyward_tests::keyward::Keyward;

const INVALID_TOKEN: &str = "Bearer error=\"invalid_token\"";
const GRACE_PASSWORD: &str = "seven slow boats sail";
const PROJECTS: &str = "/organizations/engines/settings/projects";

/// The headers that say whom a request comes from.
const IDENTITY: [&str; 5] = [
    "X-Consumer-ID",
    "X-Consumer-Username",
    "X-Credential-Identifier",
    "X-Organization-ID",
    "X-Organization-Slug",
];

/// Headers with which a client could pose as another user to a service that knows them from Kong, or from a proxy.
const TRUSTED_BY_SERVICES: [&str; 12] = [
    "X-Consumer-Custom-ID",
    "X-Consumer-Groups",
    "X-Credential-Username",
    "X-Anonymous-Consumer",
    "X-Authenticated-Groups",
    "X-Authenticated-Scope",
    "X-Authenticated-Userid",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "Forwarded",
];

/// The characters of header names other than letters, digits and `-`.
const MARKS: &str = "!#$%&'*+.^_`|~";

/// Keyward's response to an accepted key, as sent by a stand-in.
const ACCEPTED: &str = "HTTP/1.1 200 OK\r\nX-Consumer-ID: 1\r\nX-Consumer-Username: ada\r\nX-Credential-Identifier: 2\r\n\
     X-Organization-ID: 3\r\nX-Organization-Slug: engines\r\nContent-Length: 0\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn nginx_keeps_the_guarantees_of_forward_authentication() {
    keeps_guarantees(Program::Nginx).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy_keeps_the_guarantees_of_forward_authentication() {
    keeps_guarantees(Program::Caddy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_keeps_the_guarantees_of_forward_authentication() {
    keeps_guarantees(Program::Haproxy).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apache_keeps_the_guarantees_of_forward_authentication() {
    keeps_guarantees(Program::Apache).await;
}

/// nginx reads headers before `Host` with the settings of the server that TLS names, or of the default server.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_passes_the_identity_on_beside_another_default_server() {
    let keyward = Service::saying(ACCEPTED).await;
    let service = Service::echo().await;
    let gateway = Gateway::nginx_beside_default_server(&keyward.address.to_string(), service.address).await;
    for mark in MARKS.chars() {
        let forged = forged_headers(mark).join("\r\n");
        let request = format!(
            "GET /orders HTTP/1.1\r\n{forged}\r\nHost: api.example.com\r\nAuthorization: Bearer kwp_x\r\n\
             Connection: close\r\n\r\n"
        );
        let answer = gateway.send(&request).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(values(&answer.body, "X-Consumer-Username"), ["ada"], "{answer:?}");
        assert_has_plain_names_only(&answer.body);
        assert!(!answer.body.contains("forged"), "{answer:?}");

        let before = service.requests();
        for server in [None, Some(OTHER_HOST)] {
            let answer = gateway.send_to_server(server, &request).await;
            assert_eq!(answer.status, 421, "{server:?}: {answer:?}");
        }
        assert_eq!(service.requests(), before, "passed on what another server read");
    }
    gateway.end().await;
}

async fn keeps_guarantees(program: Program) {
    let keyward = Keyward::start_set_up().await;
    let owner = PlainConsole::sign_in_owner(&keyward).await;
    let api = owner.api_with_first_key().await;
    let service = Service::echo().await;
    lets_only_members_of_the_project_pass(program, &keyward, &owner, &api, &service).await;
    let mut gateway = Gateway::start(program, keyward.authority(), service.address).await;

    passes_no_trailers_on(program, &gateway, &api).await;
    passes_no_other_host_on(program, &gateway, &api, &service).await;
    for protocol in program.protocols() {
        gateway.speak(*protocol);
        tells_the_identity(&gateway, &api).await;
        passes_bodies_on(&gateway, &api).await;
        passes_many_headers_on(program, &gateway, &api).await;
        refuses_with_the_challenge(&gateway, &api, &service).await;
        refuses_two_keys(program, &gateway, &api, &service).await;
    }

    let token = api.token().expect("a token");
    keeps_the_clients_headers_from_keyward(program, token, &service).await;

    failures::outage_becomes_503(program, &keyward, &api, &gateway, &service).await;
    gateway.end().await;
    failures::limit_of_a_key_becomes_429(program, &service).await;
    failures::failure_lets_nothing_pass(program, token, &service).await;
}

/// Also if a client claims to be another user, in every spelling, or names the headers in `Connection`.
async fn tells_the_identity(gateway: &Gateway, api: &Api) {
    let token = api.token().expect("a token");
    let user = api.get("/user").await;
    let expected = [
        ("X-Consumer-ID", text(&user, "consumerId")),
        ("X-Consumer-Username", text(&user, "username")),
        ("X-Credential-Identifier", text(&user["apiKey"], "id")),
        ("X-Organization-ID", text(&user["organization"], "id")),
        ("X-Organization-Slug", text(&user["organization"], "slug")),
    ];
    let mut rows = vec![Vec::new()];
    rows.extend(expected.map(|(name, _)| vec![format!("Connection: close, {name}")]));
    rows.push(TRUSTED_BY_SERVICES.map(|name| format!("{name}: forged")).to_vec());
    rows.extend(MARKS.chars().map(forged_headers));
    for row in rows {
        let arguments: Vec<&str> = row
            .iter()
            .flat_map(|header| ["--header", header.as_str()])
            .collect();
        let answer = gateway.ask_with_key("/orders/7?page=2", token, &arguments).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(
            answer.body.starts_with("GET /orders/7?page=2 HTTP/1.1\r\n"),
            "{answer:?}"
        );
        for (name, value) in expected {
            assert_eq!(values(&answer.body, name), [value], "{name}: {answer:?}");
        }
        assert_eq!(
            values(&answer.body, "X-Forwarded-For"),
            ["127.0.0.1"],
            "{answer:?}"
        );
        assert_eq!(values(&answer.body, "X-Forwarded-Proto"), ["https"], "{answer:?}");
        // No HTTP/3, over which Caddy 2.6 loses bodies.
        assert!(answer.values("Alt-Svc").is_empty(), "{answer:?}");
        for connection in values(&answer.body, "Connection") {
            assert!(!connection.to_lowercase().contains("x-"), "{answer:?}");
        }
        assert_has_plain_names_only(&answer.body);
        assert!(!answer.body.contains("forged"), "{answer:?}");
        assert!(!answer.body.contains(token), "{answer:?}");
    }
}

/// Not even one that a client names in the target of its request.
async fn passes_no_other_host_on(program: Program, gateway: &Gateway, api: &Api, service: &Service) {
    let token = api.token().expect("a token");
    let before = service.requests();
    let answer = gateway
        .send(&format!(
            "GET https://{OTHER_HOST}/orders HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        ))
        .await;
    // The others take it for another site's.
    assert_eq!(
        service.requests() > before,
        matches!(program, Program::Apache),
        "{program:?}: {answer:?}"
    );
    if service.requests() > before {
        let forwarded = values(&service.last_request(), "X-Forwarded-Host").len();
        assert_eq!(forwarded, 0, "{program:?}: {answer:?}");
    }
}

/// Some services use trailers of a chunked body as headers.
async fn passes_no_trailers_on(program: Program, gateway: &Gateway, api: &Api) {
    let token = api.token().expect("a token");
    let head = format!("Host: api.example.com\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n");
    let names = [
        "X-Consumer-ID",
        "X_Consumer_Username",
        "X.Organization.Slug",
        "Authorization",
    ];
    let trailers = names.map(|name| format!("{name}: forged\r\n")).concat();
    let answer = gateway
        .send(&format!(
            "POST /orders HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\nTrailer: {}\r\n\r\n\
             6\r\norder \r\n0\r\n{trailers}\r\n",
            names.join(", ")
        ))
        .await;
    if matches!(program, Program::Haproxy) {
        assert_eq!(answer.status, 411, "{answer:?}");
        // HTTP/2 has trailers after any body, and some servers speak it to clients that did not negotiate it.
        let answer = gateway.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        assert_eq!(answer.status, 400, "{answer:?}");
    } else {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("order "), "{answer:?}");
        assert!(!answer.body.contains("forged"), "{answer:?}");
    }
}

/// Also if the client's query names a project.
async fn lets_only_members_of_the_project_pass(
    program: Program,
    keyward: &Keyward,
    owner: &PlainConsole,
    api: &Api,
    service: &Service,
) {
    let create_user = "admin create-user --organization engines --username grace --password-stdin";
    keyward.command(create_user, GRACE_PASSWORD).await;
    let grace = PlainConsole::sign_in(keyward.base_url(), "grace", GRACE_PASSWORD).await;
    let grace = grace.api_with_first_key().await;
    owner.join_new_project("Engine").await;
    let ours = api.get("/user/projects").await["items"][0]["id"].clone();
    let ours = ours.as_str().expect("a project");
    let theirs = owner.create_project(&format!("{PROJECTS}/new"), "Compiler").await;
    let theirs = theirs.split('?').next().expect("a path");
    let user = grace.get("/user").await;
    let member = [("member", text(&user, "consumerId"))];
    owner.submit(&format!("{theirs}/add-members"), &member).await;
    let theirs = theirs.rsplit('/').next().expect("an identifier");

    let authority = keyward.authority();
    let gateway = Gateway::start_for_members(program, authority, service.address, Some(ours)).await;
    let before = service.requests();
    for (client, project, status) in [
        (api, ours, 200),
        (api, theirs, 200),
        (&grace, theirs, 403),
        (&grace, ours, 403),
    ] {
        let token = client.token().expect("a token");
        for path in ["/orders".to_owned(), format!("/orders?project={project}")] {
            let answer = gateway.ask_with_key(&path, token, &[]).await;
            assert_eq!(answer.status, status, "{program:?} {path}: {answer:?}");
        }
    }
    assert_eq!(service.requests(), before + 4, "{program:?}");
    gateway.end().await;
}

/// With `--trusted-proxy`, Keyward takes the gateway's word for request id, trace and address.
async fn keeps_the_clients_headers_from_keyward(program: Program, token: &str, service: &Service) {
    let keyward = Service::saying(ACCEPTED).await;
    let gateway = Gateway::start(program, &keyward.address.to_string(), service.address).await;
    let (trace, address) = ("0af7651916cd43dd8448eb211c80319c", "203.0.113.9");
    let headers = [
        format!("Traceparent: 00-{trace}-b7ad6b7169203331-01"),
        format!("X-Request-Id: {trace}"),
        format!("Forwarded: for={address}"),
        format!("X-Forwarded-For: {address}"),
        "Cookie: session=secret".to_owned(),
    ];
    let arguments: Vec<&str> = headers
        .iter()
        .flat_map(|header| ["--header", header.as_str()])
        .collect();
    let answer = gateway.ask_with_key("/orders", token, &arguments).await;
    assert_eq!(answer.status, 200, "{program:?}: {answer:?}");
    let question = keyward.last_request();
    assert!(!question.contains(trace), "{program:?}: {question}");
    assert!(!question.contains(address), "{program:?}: {question}");
    assert!(!question.contains("secret"), "{program:?}: {question}");
    assert_eq!(
        values(&question, "Authorization"),
        [format!("Bearer {token}")],
        "{program:?}: {question}"
    );
    assert_eq!(
        values(&question, "X-Forwarded-For"),
        ["127.0.0.1"],
        "{program:?}: {question}"
    );
    gateway.end().await;
}

/// Claims to be another user, and another header, in names with `-` or a mark in each place of a dash.
fn forged_headers(mark: char) -> Vec<String> {
    IDENTITY
        .into_iter()
        .chain(["Other-Header"])
        .flat_map(|name| spellings(name, mark))
        .filter(|name| name != "Other-Header")
        .flat_map(|name| [name.to_lowercase(), name])
        .map(|name| format!("{name}: forged"))
        .collect()
}

/// A name with `-` or a mark in each place of a dash.
fn spellings(name: &str, mark: char) -> Vec<String> {
    let mut parts = name.split('-');
    let first = vec![parts.next().unwrap_or_default().to_owned()];
    parts.fold(first, |starts, part| {
        let with = |dash: char| -> Vec<String> {
            starts
                .iter()
                .map(|start| format!("{start}{dash}{part}"))
                .collect()
        };
        [with('-'), with(mark)].concat()
    })
}

/// Some services take every other character for a dash.
#[track_caller]
fn assert_has_plain_names_only(request: &str) {
    let (head, _) = request.split_once("\r\n\r\n").expect("a head");
    for line in head.lines().skip(1) {
        let (name, _) = line.split_once(':').expect("a header");
        let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
        assert!(
            name.chars().all(is_plain),
            "{name} reached the service: {request}"
        );
    }
}

/// Larger ones than Keyward would take.
async fn passes_bodies_on(gateway: &Gateway, api: &Api) {
    let body = "order ".repeat(20_000);
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let arguments = ["--request", method, "--data-binary", &body];
        let answer = gateway
            .ask_with_key("/orders", api.token().expect("a token"), &arguments)
            .await;
        assert_eq!(answer.status, 200, "{method}");
        assert!(answer.body.starts_with(&format!("{method} /orders ")), "{method}");
        assert!(answer.body.ends_with(&body), "{method}");
    }
}

/// More and larger ones than Keyward would take. HAProxy takes 15 KiB of them by itself, and Apache 8 KiB of one name.
async fn passes_many_headers_on(program: Program, gateway: &Gateway, api: &Api) {
    let cookies = match program {
        Program::Nginx | Program::Caddy => 4,
        Program::Haproxy => 2,
        Program::Apache => 1,
    };
    let mut headers: Vec<String> = (0..80).map(|number| format!("X-Extra-{number}: x")).collect();
    headers.extend((0..cookies).map(|number| format!("Cookie: c{number}={}", "x".repeat(6_000))));
    let arguments: Vec<&str> = headers
        .iter()
        .flat_map(|header| ["--header", header.as_str()])
        .collect();
    let token = api.token().expect("a token");
    let answer = gateway.ask_with_key("/orders", token, &arguments).await;
    assert_eq!(answer.status, 200, "{program:?}: {answer:?}");
    for number in 0..80 {
        let name = format!("X-Extra-{number}");
        assert_eq!(values(&answer.body, &name), ["x"], "{program:?}: {answer:?}");
    }
    let length: usize = values(&answer.body, "Cookie")
        .iter()
        .map(|cookie| cookie.len())
        .sum();
    assert!(length > cookies * 6_000, "{program:?}: {answer:?}");
}

async fn refuses_with_the_challenge(gateway: &Gateway, api: &Api, service: &Service) {
    let created = api.create("to be revoked", "").await;
    let revoked = text(&created, "key");
    let answer = gateway.ask_with_key("/orders", revoked, &[]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    api.delete(text(&created, "id")).await;

    let before = service.requests();
    for token in [revoked, "kwp_x"] {
        for arguments in [
            &[][..],
            &["--data", "a body"],
            &["--head"],
            &["--header", "X-Consumer-ID: forged"],
        ] {
            let answer = gateway.ask_with_key("/orders", token, arguments).await;
            assert_eq!(answer.status, 401, "{answer:?}");
            assert_eq!(answer.values("www-authenticate"), [INVALID_TOKEN], "{answer:?}");
        }
    }
    for arguments in [&[][..], &["--request", "OPTIONS"], &["--data", "a body"]] {
        let answer = gateway.ask("/orders?access_token=x", arguments).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert_eq!(answer.values("www-authenticate"), ["Bearer"], "{answer:?}");
    }
    assert_eq!(service.requests(), before, "a refused request was passed on");
}

/// nginx does so by itself.
async fn refuses_two_keys(program: Program, gateway: &Gateway, api: &Api, service: &Service) {
    let before = service.requests();
    let valid = format!("Authorization: Bearer {}", api.token().expect("a token"));
    let (invalid, basic) = ("Authorization: Bearer kwp_x", "Authorization: Basic eDp4");
    for (one, other) in [
        (valid.as_str(), valid.as_str()),
        (&valid, invalid),
        (invalid, &valid),
        (&valid, basic),
    ] {
        let answer = gateway
            .ask("/orders", &["--header", one, "--header", other])
            .await;
        if matches!(program, Program::Nginx) {
            assert_eq!(answer.status, 400, "{answer:?}");
        } else {
            assert_eq!(answer.status, 401, "{program:?}: {answer:?}");
            let challenge = answer.values("www-authenticate");
            assert_eq!(challenge, [INVALID_TOKEN], "{program:?}: {answer:?}");
        }
    }
    assert_eq!(
        service.requests(),
        before,
        "{program:?} passed on a request with two keys"
    );
}

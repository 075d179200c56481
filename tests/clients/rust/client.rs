//! Uses keys and projects with the generated client, as a user's program would.

use std::fmt::Debug;
use std::num::NonZero;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::TryStreamExt;
use progenitor::progenitor_client::{ByteStream, Error, ResponseValue};
use reqwest::header::{AUTHORIZATION, HeaderMap};
use v1::Client;
use v1::types::{
    ApiKeyStatus, CreateApiKeyRequest, Introspection, IntrospectionRequest, LeakReport, LeakedKeyToken,
    OldKeyEnds, Problem, RotateApiKeyRequest, UpdateApiKeyRequest,
};

mod v1 {
    progenitor::generate_api!(spec = "../openapi/v1.json", interface = Positional);
}

/// `verifier` is the name and the secret of one, and `revoked_reason` the reason of a revocation by the holder.
pub(crate) async fn calls_every_operation(
    url: &str,
    token: &str,
    verifier: (&str, &str),
    revoked_reason: &str,
) {
    let keyward = with_key(url, token);
    let verifier = with_credentials(url, verifier);
    let end = "2030-01-01T00:00:00Z".parse().expect("a time");
    let named = |name: &str| -> CreateApiKeyRequest {
        serde_json::from_value(serde_json::json!({ "name": name })).expect("a request")
    };
    let mut created = Vec::new();
    for name in ["Nightly", "Weekly", "每年"] {
        let request = CreateApiKeyRequest {
            description: Some("by Rust".to_owned()),
            can_manage_keys: Some(name != "Nightly"),
            expires_at: (name == "Weekly").then_some(end),
            ..named(name)
        };
        created.push(
            keyward
                .create_api_key(None, &request)
                .await
                .expect("a key")
                .into_inner(),
        );
    }
    let nightly = &created[0];
    assert!(nightly.key.starts_with("kwp_"));
    let id = nightly.id.to_string();
    let with_nightly = with_key(url, &nightly.key);

    let user = with_nightly.get_user().await.expect("the user").into_inner();
    assert_eq!(user.api_key.id, nightly.id);
    assert!(!user.api_key.can_manage_keys);
    let consumer = user.consumer_id.to_string();
    let ungranted = problem(with_nightly.create_api_key(None, &named("Hourly")).await).await;
    assert_eq!(ungranted.code, "key_may_not_manage_keys");

    let two = NonZero::new(2);
    let mut listed = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let search = cursor.is_none().then_some("Rust");
        let page = keyward
            .list_api_keys(cursor.as_deref(), None, two, search, None)
            .await;
        let page = page.expect("a page").into_inner();
        assert!(page.items.len() <= 2);
        listed.extend(page.items);
        cursor = page.next_cursor.map(|cursor| cursor.to_string());
        if cursor.is_none() {
            break;
        }
    }
    assert!(
        listed
            .iter()
            .map(|key| &key.id)
            .eq(created.iter().rev().map(|key| &key.id))
    );
    assert!(
        listed
            .iter()
            .all(|key| key.status == ApiKeyStatus::Valid && key.revoked_at.is_none())
    );

    let before = "2030-01-01T00:00:00.001Z".parse().expect("a time");
    let ending = keyward.list_api_keys(None, Some(&before), None, None, None).await;
    let ending = ending.expect("a page").into_inner().items;
    assert_eq!(ending.len(), 1);
    assert_eq!((&ending[0].id, ending[0].expires_at), (&created[1].id, Some(end)));
    let sooner = "2029-12-31T00:00:00Z".parse().expect("a time");
    // `null`, which would remove it, is a value that this generator cannot send.
    let bring_forward = UpdateApiKeyRequest {
        expires_at: Some(sooner),
        ..UpdateApiKeyRequest::default()
    };
    let weekly = created[1].id.to_string();
    let moved = keyward.update_api_key(&weekly, None, &bring_forward).await;
    assert_eq!(moved.expect("the key").expires_at, Some(sooner));
    let known = introspected(&verifier, &created[1].key).await;
    assert_eq!(known.exp, Some(sooner.timestamp()));

    let retried = named("Retried");
    let first = keyward.create_api_key(Some("retry"), &retried).await;
    let first = first.expect("a key").into_inner();
    let again = problem(keyward.create_api_key(Some("retry"), &retried).await).await;
    assert_eq!(
        (again.code.as_str(), again.id),
        ("already_created", Some(first.id.clone()))
    );

    let old = first.id;
    let rotation = RotateApiKeyRequest {
        old_key_ends: Some(OldKeyEnds::AtOnce),
        grace_seconds: None,
        expires_at: None,
    };
    let successor = keyward.rotate_api_key(&old, None, &rotation).await;
    let successor = successor.expect("a key").into_inner();
    let user = with_key(url, &successor.key).get_user().await;
    assert_eq!(user.expect("the user").api_key.id, successor.id);
    let rotated = keyward.get_api_key(&old).await.expect("the key").into_inner();
    assert_eq!(
        (rotated.status, rotated.rotated_to_id),
        (ApiKeyStatus::Revoked, Some(successor.id.clone()))
    );
    let again = problem(keyward.rotate_api_key(&old, None, &rotation).await).await;
    assert_eq!(
        (again.code.as_str(), again.id),
        ("already_rotated", Some(successor.id))
    );

    let found = keyward.get_api_key(&id).await.expect("the key");
    let tag = found.headers()["etag"].to_str().expect("a text").to_owned();
    let rename = |name: &str| UpdateApiKeyRequest {
        name: Some(name.parse().expect("a name")),
        ..UpdateApiKeyRequest::default()
    };
    let renamed = keyward.update_api_key(&id, Some(&tag), &rename("Hourly")).await;
    assert_eq!(renamed.expect("the key").name.to_string(), "Hourly");
    let late = keyward.update_api_key(&id, Some(&tag), &rename("Daily")).await;
    assert_eq!(problem(late).await.code, "precondition_failed");
    let unseen = keyward.delete_api_key(&id, None, Some(&tag)).await;
    assert_eq!(problem(unseen).await.code, "precondition_failed");

    let one = NonZero::new(1);
    let first = keyward
        .list_projects(None, one)
        .await
        .expect("a page")
        .into_inner();
    let next = first.next_cursor.as_ref().map(|cursor| cursor.to_string());
    let second = keyward
        .list_projects(next.as_deref(), one)
        .await
        .expect("a page")
        .into_inner();
    assert!(second.next_cursor.is_none());
    let names = [&first, &second].map(|page| page.items[0].name.to_string());
    assert_eq!(names, ["Engine", "差分機関"]);
    let project = keyward
        .get_project(&second.items[0].id.to_string())
        .await
        .expect("the project");
    assert_eq!(project.name.to_string(), "差分機関");
    assert_eq!(problem(keyward.get_project(&id).await).await.code, "not_found");

    let project = project.id.to_string();
    let passed = with_nightly.authenticate_request(Some(&project)).await;
    let passed = passed.expect("it passes");
    assert_eq!(passed.headers()["x-consumer-id"], consumer);
    assert_eq!(passed.headers()["x-credential-identifier"], id);
    assert!(keyward.authenticate_request(None).await.is_ok());
    let outside = problem(keyward.authenticate_request(Some(&id)).await).await;
    assert_eq!(outside.code, "forbidden");

    let known = introspected(&verifier, &nightly.key).await;
    assert!(known.active);
    assert_eq!((known.jti.as_deref(), known.exp), (Some(id.as_str()), None));
    assert_eq!(known.client_id, Some(consumer));
    assert_eq!(known.projects.len(), 2);

    let leaked = keyward.create_api_key(None, &named("Leaked")).await;
    let leaked = leaked.expect("a key").into_inner();
    let found = LeakedKeyToken {
        token: leaked.key.to_string(),
        type_: Some("commit".to_owned()),
        url: Some("https://git.example.com/a.sh".to_owned()),
    };
    let report = LeakReport { tokens: vec![found] };
    let anonymous = Client::new(url);
    anonymous.report_leaked_keys(&report).await.expect("accepted");
    let refused = with_key(url, &leaked.key).get_user().await;
    assert_eq!(problem(refused).await.code, "invalid_token");
    let leaked = keyward.get_api_key(&leaked.id.to_string()).await;
    assert_eq!(leaked.expect("the key").status, ApiKeyStatus::Revoked);

    for key in &created {
        keyward
            .delete_api_key(&key.id.to_string(), None, None)
            .await
            .expect("revoked");
    }
    let revoked = keyward.get_api_key(&id).await.expect("the key").into_inner();
    assert_eq!(revoked.status, ApiKeyStatus::Revoked);
    assert_eq!(
        revoked.revoked_reason.map(|reason| reason.to_string()).as_deref(),
        Some(revoked_reason)
    );
    assert!(revoked.revoked_at.is_some_and(|at| at >= revoked.created_at));

    assert_eq!(problem(with_nightly.get_user().await).await.code, "invalid_token");
    let unknown = introspected(&verifier, &nightly.key).await;
    assert_eq!((unknown.active, unknown.sub), (false, None));
    let refused = keyward.create_api_key(None, &named("\u{200b}")).await;
    let refused = problem(refused).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.errors[0].pointer, "/name");
}

fn with_key(url: &str, token: &str) -> Client {
    authorized(url, &format!("Bearer {token}"))
}

fn with_credentials(url: &str, (name, secret): (&str, &str)) -> Client {
    let credentials = STANDARD.encode(format!("{name}:{secret}"));
    authorized(url, &format!("Basic {credentials}"))
}

/// The answer to a resource server about a token.
async fn introspected(verifier: &Client, token: &str) -> Introspection {
    let request = IntrospectionRequest {
        token: token.to_owned(),
        token_type_hint: None,
    };
    let known = verifier.introspect_token(&request).await;
    known.expect("an answer").into_inner()
}

fn authorized(url: &str, authorization: &str) -> Client {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, authorization.parse().expect("a header"));
    let client = reqwest::Client::builder().default_headers(headers).build();
    Client::new_with_client(url, client.expect("a client"))
}

/// The problem that was answered. The generator takes problems for bytes, as it does not know their media type.
async fn problem<T: Debug>(answer: Result<ResponseValue<T>, Error<ByteStream>>) -> Problem {
    let body = match answer {
        Err(Error::ErrorResponse(answer)) => answer.into_inner().into_inner(),
        answered => panic!("no problem: {answered:?}"),
    };
    let parts: Vec<_> = body.try_collect().await.expect("the whole body");
    serde_json::from_slice(&parts.concat()).expect("a problem")
}

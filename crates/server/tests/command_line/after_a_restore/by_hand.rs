//! Changes that the command lists for people, until they have made them.

use serde_json::{Value, json};

use super::lost::Lost;
use super::{back_up, considered, repeat, status};
use crate::browser::{cookie, sign_in};
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;

const ID: &str = "0198c0de-0000-7000-8000-00000000abcd";

fn event(action: &str, kind: &str, id: &str) -> Value {
    json!({
        "id": ID,
        "at": "2026-01-31T12:00:00.000Z",
        "actor": { "kind": "administrator" },
        "action": action,
        "subject": { "kind": kind, "id": id },
        "outcome": "success",
    })
}

fn rotation(key: &str, successor: &str) -> String {
    let mut event = event("api_key.rotate", "api_key", key);
    event["object"] = json!({ "kind": "api_key", "id": successor });
    format!("{event}\n")
}

/// A line of the log with which something of the kind got a new value.
fn line(action: &str, kind: &str, id: &str, new_value: Option<&str>) -> String {
    let mut event = event(action, kind, id);
    if let Some(new_value) = new_value {
        event["newValue"] = new_value.into();
    }
    format!("{event}\n")
}

#[test]
fn planned_ends_rotations_and_settings_are_named_until_repeated() {
    let lost = Lost::set_up(Place::file("by-hand"));
    let server = lost.place.serve(&[]);
    let current = |bearer: &str| -> Value {
        let own = "/api/v1/user/api-keys/current";
        server.ask("GET", own, &[bearer], "").json()
    };
    let id = |bearer: &str| current(bearer)["id"].as_str().unwrap().to_owned();
    let (ending, rotated) = (id(&lost.kept), id(&lost.revoked));
    let bob = lost.id("membership.create", "username", "bob");
    let acme = lost.id("organization.create", "name", "Acme & Sons");
    let later = Some("2999-12-31T12:00:00.000Z");
    let log = [
        line("api_key.change_expiry", "api_key", &ending, later),
        line("api_key.change_expiry", "api_key", ID, later),
        rotation(&rotated, ID),
        line("membership.change_expiry", "membership", &bob, later),
        line(
            "organization.disable_default_key_management",
            "organization",
            &acme,
            None,
        ),
        line("organization.limit_key_life", "organization", &acme, Some("P90D")),
        line("membership.change_expiry", "membership", ID, later),
    ]
    .concat();
    let answer = repeat(&lost.place, &log);
    let (revoke, remove_member) = (
        lost.place.printed("admin revoke"),
        lost.place.printed("admin remove-member"),
    );
    let ends = format!(
        "{}The log has no change that can be repeated.\n\
         By hand: ends of keys were planned: {ending} of ada in acme-sons (2999-12-31T12:00:00Z). Have their users plan \
         them in the console, have an owner apply the maximum lifetime to existing keys again if that planned them, or run \
         `{revoke} --organization SLUG --reason TEXT --key ID`\n",
        considered(&log)
    );
    let end_of_bob = format!(
        "By hand: ends of memberships were planned: bob in acme-sons (2999-12-31T12:00:00Z). Have an owner plan \
         them in the console, or run `{remove_member} --organization SLUG --username NAME`\n"
    );
    let left = "error: changes are left to repeat: see above\n";
    assert_eq!(
        answer.errors,
        format!(
            "{ends}\
             By hand: keys were rotated, and their new keys are lost: {rotated} of ada in acme-sons. Have their users rotate \
             them in the console, or run `{revoke} --organization SLUG --reason TEXT --key ID`\n\
             {end_of_bob}\
             By hand: new keys were limited: acme-sons (cannot manage other keys by default), acme-sons (maximum lifetime \
             P90D). Have an owner set that in the console, under General\n\
             {left}"
        )
    );
    assert_eq!(answer.code, Some(1));

    let rotate = format!("/api/v1/user/api-keys/{rotated}/rotate");
    let json = "Content-Type: application/json";
    let answer = server.ask("POST", &rotate, &[&lost.revoked, json], "{}");
    assert_eq!(answer.status, 201, "{answer:?}");
    let signed_in = sign_in(&server, "ada", PASSWORD);
    Lost::submit(&server, cookie(&signed_in), "/general/new-keys", "manage_keys=no");
    Lost::submit(&server, cookie(&signed_in), "/general/key-life", "days=60");
    assert_eq!(
        repeat(&lost.place, &log).errors,
        format!("{ends}{end_of_bob}{left}")
    );
}

/// A key whose successor has ended may be rotated again, and the backup knows the ended one.
#[test]
fn lost_later_rotation_is_named_until_the_key_is_rotated() {
    let lost = Lost::set_up(Place::file("by-hand-rotated-lost"));
    let restored = Place::file("by-hand-rotated-restored");
    let own = "/api/v1/user/api-keys";
    let server = lost.place.serve(&[]);
    let key = server
        .ask("GET", &format!("{own}/current"), &[&lost.kept], "")
        .json()["id"]
        .clone();
    let key = key.as_str().unwrap();
    let rotate = |server: &Server| {
        let path = format!("{own}/{key}/rotate");
        let json = "Content-Type: application/json";
        let answer = server.ask("POST", &path, &[&lost.kept, json], "{}");
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let ended = rotate(&server);
    let revoked = server.ask("DELETE", &format!("{own}/{ended}"), &[&lost.kept], "");
    assert_eq!(revoked.status, 204, "{revoked:?}");
    back_up(&lost.place, &restored);
    repeat(&restored, &lost.log()).success();

    rotate(&server);
    let named =
        format!("By hand: keys were rotated, and their new keys are lost: {key} of ada in acme-sons. ");
    let answer = repeat(&restored, &lost.log());
    assert!(answer.errors.contains(&named), "{answer:?}");
    assert_eq!(answer.code, Some(1));

    rotate(&restored.serve(&[]));
    repeat(&restored, &lost.log()).success();
}

/// More keys than one query takes, of which the last is here. No event says that an end came, however late
/// the clocks of other events were.
#[test]
fn planned_end_is_named_with_any_clocks() {
    let lost = Lost::set_up(Place::file("by-hand-ends"));
    let server = lost.place.serve(&[]);
    let own = "/api/v1/user/api-keys/current";
    let key = server.ask("GET", own, &[&lost.kept], "").json()["id"].clone();
    let key = key.as_str().unwrap();
    let bob = lost.id("membership.create", "username", "bob");
    for at in ["2026-01-31T11:59:59Z", "2030-01-31T12:00:00Z"] {
        let elsewhere = (0..1_000).map(|number| format!("0198c0de-0000-7000-8000-{number:012x}"));
        let ids = elsewhere.chain([key.to_owned()]);
        let lines = ids.map(|id| line("api_key.change_expiry", "api_key", &id, Some(at)).replace(ID, &id));
        let log = lines.collect::<String>()
            + &line("membership.change_expiry", "membership", &bob, Some(at))
            + &line("session.sign_in", "user", ID, None).replace("2026-01", "2031-01")
            + &line("audit_log.export", "organization", ID, None).replace("2026-01", "2031-01");
        let answer = repeat(&lost.place, &log);
        for named in [
            format!("By hand: ends of keys were planned: {key} of ada in acme-sons ({at}). "),
            format!("By hand: ends of memberships were planned: bob in acme-sons ({at}). "),
        ] {
            assert!(answer.errors.contains(&named), "{answer:?}");
        }
        assert_eq!(status(&server, &lost.kept), 200);
    }
}

/// It takes long to look for what other organizations had.
#[test]
fn change_in_another_organization_is_not_looked_for_here() {
    let lost = Lost::set_up(Place::file("by-hand-elsewhere"));
    let server = lost.place.serve(&[]);
    let own = "/api/v1/user/api-keys/current";
    let key = server.ask("GET", own, &[&lost.kept], "").json()["id"].clone();
    let acme = lost.id("organization.create", "name", "Acme & Sons");
    let revoked = |organization: &str| {
        let mut event = event("api_key.revoke", "api_key", key.as_str().unwrap());
        event["organization"] = json!({ "kind": "organization", "id": organization });
        format!("{event}\n")
    };
    let known = line("organization.create", "organization", &acme, None);
    let answer = repeat(&lost.place, &(known.clone() + &revoked(ID)));
    let elsewhere = "API keys revoked: 0 repeated, 0 already so, 1 not in this database, 0 left\n";
    assert!(answer.errors.ends_with(elsewhere), "{answer:?}");
    answer.success();
    assert_eq!(status(&server, &lost.kept), 200);
    repeat(&lost.place, &(known + &revoked(&acme))).success();
    assert_eq!(status(&server, &lost.kept), 401);
}

#[test]
fn successful_event_of_a_newer_version_is_left() {
    let lost = Lost::set_up(Place::file("by-hand-newer"));
    let acme = lost.id("organization.create", "name", "Acme & Sons");
    let newer = line("key_set.rotate", "key_set", ID, None);
    let log = line("organization.create", "organization", &acme, None) + &newer;
    let answer = repeat(&lost.place, &log);
    let errors = "The log has no change that can be repeated.\n\
         Events of a newer version of Keyward: 1 left. Run this command with that version\n\
         error: changes are left to repeat: see above\n";
    assert_eq!(answer.errors, considered(&log) + errors);
    assert_eq!(answer.code, Some(1));
    let refused = log.replace(&newer, &newer.replace("success", "refused"));
    repeat(&lost.place, &refused).success();
}

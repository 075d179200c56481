//! Databases that another version of Keyward has migrated.

use crate::keyward::{Answer, Keyward};
use crate::needing_a_database::NEEDING_A_DATABASE;
use crate::place::Place;
use crate::server::Server;
use crate::setup::PASSWORD;
use crate::versions::{
    NEWER, TO_COME, applied, break_compatibility, make_newer, make_too_old, migrations_to_come,
};

const BREAKING: &str = "the database has migration 29991231235959, which this version of Keyward does not know: start the \
                        newer version";
const MOVING: &str = "the database has migration 29991231235959, which this version of Keyward does not know: use the \
                      newer version to export and import, which move everything";
const ADDITIVE: &str = "database was migrated by a newer, compatible version";

async fn set_up_on_both(test: &str) -> [Place; 2] {
    let places = [Place::server().await, Place::file(test)];
    for place in &places {
        place.bootstrap();
    }
    places
}

fn run(place: &Place, command: &[&str]) -> Answer {
    place.keyward(command).input(PASSWORD).run()
}

/// The program as a version to come.
fn newer(place: &Place, command: &[&str]) -> Keyward {
    place
        .keyward(command)
        .variable("KEYWARD_TEST_MIGRATIONS_TO_COME", migrations_to_come())
}

fn is(command: &[&str], names: &[&str]) -> bool {
    command.first().is_some_and(|first| names.contains(first))
}

#[tokio::test]
async fn no_command_changes_a_breaking_newer_schema() {
    for place in set_up_on_both("newer-breaking").await {
        make_newer(&place).await;
        break_compatibility(&place).await;
        let before = applied(&place).await;
        for command in NEEDING_A_DATABASE {
            assert_eq!(run(&place, command).refusal(), BREAKING, "{command:?}");
        }
        assert_eq!(applied(&place).await, before);
    }
}

#[tokio::test]
async fn commands_and_servers_work_with_an_additive_newer_schema() {
    for place in set_up_on_both("newer-additive").await {
        make_newer(&place).await;
        let before = applied(&place).await;
        for command in NEEDING_A_DATABASE
            .into_iter()
            .filter(|command| !is(command, &["serve"]))
        {
            let answer = run(&place, command);
            if is(command, &["export", "import"]) {
                assert_eq!(answer.refusal(), MOVING, "{command:?}");
            } else {
                assert!(answer.errors.contains(ADDITIVE), "{command:?}: {answer:?}");
                assert!(answer.errors.contains(NEWER), "{command:?}: {answer:?}");
            }
        }
        let revoke = [
            "admin",
            "revoke",
            "--organization=acme-sons",
            "--username=ada",
            "--reason=leak",
        ];
        run(&place, &revoke).success();

        let mut server = Server::spawn(place.keyward(&["serve", "--listen=127.0.0.1:0"]));
        assert_eq!(server.event(ADDITIVE)["migration"], NEWER);
        let server = server.listening();
        assert_eq!(server.get("/readyz").status, 200);
        assert_eq!(applied(&place).await, before);
    }
}

#[tokio::test]
async fn only_migrate_and_serve_migrate_an_older_database() {
    for by_migrate in [true, false] {
        for place in set_up_on_both("older").await {
            let before = applied(&place).await;
            let from = before.last().unwrap();
            let others = NEEDING_A_DATABASE
                .into_iter()
                .filter(|command| !is(command, &["serve", "migrate"]));
            let migrate = place.printed("migrate");
            for command in others {
                assert_eq!(
                    newer(&place, command).input(PASSWORD).run().refusal(),
                    format!(
                        "the database has the tables of an older version of Keyward (its newest migration is {from}), and \
                         this command leaves them so: run `{migrate}` or start this version's server to bring it up to date, or use the older version"
                    ),
                    "{command:?}"
                );
                assert_eq!(applied(&place).await, before, "{command:?}");
            }
            if by_migrate {
                let migrated = newer(&place, &["migrate"]).run();
                // It follows a warning about the unknown variable with which tests add future migrations.
                let expected = format!("Migrated the database from {from} to {TO_COME}.");
                assert_eq!(migrated.errors.lines().last(), Some(&*expected));
                assert_eq!(migrated.success(), "");
            } else {
                let serve = newer(&place, &["serve", "--listen=127.0.0.1:0"]);
                let mut server = Server::spawn(serve);
                let event = server.event("database migrated");
                assert_eq!(
                    (&event["from"], &event["to"]),
                    (&from.as_str().into(), &TO_COME.into())
                );
                assert_eq!(server.listening().get("/readyz").status, 200);
            }
            let after: Vec<&str> = before.iter().map(String::as_str).chain([TO_COME]).collect();
            assert_eq!(applied(&place).await, after);
        }
    }
}

#[tokio::test]
async fn database_file_in_use_by_a_server_is_never_migrated() {
    let place = Place::file("older-served");
    place.bootstrap();
    let _server = place.serve(&[]);
    let before = applied(&place).await;
    let answer = newer(&place, &["migrate"]).run();
    assert!(
        answer
            .refusal()
            .contains("is in use by another keyward command or server"),
        "{answer:?}"
    );
    assert_eq!(applied(&place).await, before);
}

#[tokio::test]
async fn every_command_refuses_a_prerelease_database() {
    for place in set_up_on_both("too-old").await {
        make_too_old(&place).await;
        let before = applied(&place).await;
        for command in NEEDING_A_DATABASE {
            assert_eq!(
                run(&place, command).refusal(),
                "the database is from before Keyward's first release (its newest migration is 20261122130000) and cannot be \
                 brought up to date or exported by this version: remove it and set Keyward up anew",
                "{command:?}"
            );
        }
        assert_eq!(applied(&place).await, before);
    }
}

#[tokio::test]
async fn only_initial_commands_create_tables_in_an_empty_database() {
    let place = Place::server().await;
    for command in NEEDING_A_DATABASE {
        if crate::needing_a_database::acts_on_what_is_there(command) {
            let answer = run(&place, command);
            assert!(
                answer.refusal().starts_with("Keyward is not set up yet"),
                "{command:?}: {answer:?}"
            );
            assert_eq!(applied(&place).await, [""; 0], "{command:?}");
        }
    }
    Keyward::new(&["admin", "setup-link"])
        .database(match &place {
            Place::Server(database) => database.url(),
            Place::File(_) => panic!("not on a server"),
        })
        .run()
        .success();
    assert!(!applied(&place).await.is_empty());
}

//! A server whose own role may not change tables, nor what the audit log says.

use keyward_test_database::TestDatabase;
use rustix::process::Signal;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::browser::{cookie, create_key, sign_in};
use crate::keyward::Keyward;
use crate::retention::OVER;
use crate::server::Server;
use crate::setup::{PASSWORD, bootstrap};

const MIGRATION_URL: &str = "KEYWARD_MIGRATION_DATABASE_URL";

/// A role beside the owner's, and the database as it sees it. The role is the whole server's, so its name is its own.
struct ServingRole {
    name: String,
    url: String,
}

impl ServingRole {
    fn of(database: &TestDatabase) -> Self {
        let name = format!("{}_serve", database.name());
        let (_, server_and_name) = database.url().rsplit_once('@').unwrap();
        let url = format!("postgres://{name}:s3cret@{server_and_name}");
        Self { name, url }
    }

    /// The blocks of SQL that `docs/choosing-a-database.md` tells the owner to run about this role, in their order.
    fn statements(&self) -> Vec<String> {
        let guide = include_str!("../../../../docs/choosing-a-database.md");
        let blocks = guide.split("```sql\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split_once("```"));
        blocks
            .map(|(block, _)| block.replace("keyward_serve", &self.name))
            .filter(|block| block.contains(&self.name))
            .collect()
    }
}

async fn run(url: &str, statements: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let outcome = client.batch_execute(statements).await;
    drop(client);
    connection.await.unwrap()?;
    outcome
}

#[tokio::test]
async fn the_owner_migrates_and_the_role_that_serves_cannot_rewrite_the_audit_log() {
    let database = TestDatabase::empty().await.unwrap();
    let role = ServingRole::of(&database);
    let [before, after] = role.statements().try_into().unwrap();
    run(database.url(), &before).await.unwrap();

    let alone = Keyward::new(&["migrate"]).database(&role.url).run();
    assert_eq!(alone.code, Some(1), "the role alone may not migrate: {alone:?}");
    let keyward = |command: &[&str]| {
        Keyward::new(command)
            .database(&role.url)
            .variable(MIGRATION_URL, database.url())
    };
    keyward(&["migrate"]).run().success();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let warning = "the role that serves may change and remove audit events: as the owner, run \
                   `REVOKE UPDATE, DELETE, TRUNCATE ON audit_events FROM …`";
    let warned = Server::spawn(keyward(&serve)).event(warning);
    assert_eq!(warned["level"], "WARN");
    run(database.url(), &after).await.unwrap();
    let bootstrap = [
        "admin",
        "bootstrap",
        "--organization=Acme & Sons",
        "--username=ada",
        "--password-stdin",
    ];
    keyward(&bootstrap).input(PASSWORD).run().success();
    let mut server = Server::listening_as(keyward(&serve));
    let signed_in = sign_in(&server, "ada", PASSWORD);
    let created = create_key(&server, cookie(&signed_in), "nightly");
    assert_eq!(created.status, 200, "{}", created.body);
    server.signal(Signal::TERM);
    let (_, log) = server.ended();
    assert!(!log.contains("the role that serves"), "{log}");

    for forbidden in [
        "UPDATE audit_events SET request_id = NULL",
        "DELETE FROM audit_events",
        "TRUNCATE audit_events",
        "ALTER TABLE audit_events DISABLE TRIGGER ALL",
        "DROP TABLE audit_events",
        "CREATE TABLE mine (id int)",
    ] {
        let refused = run(&role.url, forbidden).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{forbidden}"
        );
    }
    let clean_up = format!("DROP OWNED BY {0}; DROP ROLE {0}", role.name);
    run(database.url(), &clean_up).await.unwrap();
}

#[tokio::test]
async fn old_audit_events_are_removed_as_the_owner_only_and_the_server_says_so() {
    let database = TestDatabase::empty().await.unwrap();
    let role = ServingRole::of(&database);
    let [before, after] = role.statements().try_into().unwrap();
    run(database.url(), &before).await.unwrap();
    bootstrap(&database).success();
    run(database.url(), &after).await.unwrap();
    run(database.url(), OVER).await.unwrap();
    let as_server = |arguments: &[&str]| {
        Keyward::new(arguments)
            .database(&role.url)
            .variable("KEYWARD_KEEP_AUDIT_EVENTS", "365")
    };
    let as_owner = |arguments: &[&str]| as_server(arguments).variable(MIGRATION_URL, database.url());

    // That the server knows the owner changes nothing: it acts as its own role.
    let mut server = Server::listening_as(as_owner(&["serve", "--listen", "127.0.0.1:0"]));
    let warning = server.event(
        "old audit events stay, since the database lets this server's role only add events: run `keyward clean-up` \
         regularly, with the same options, and with the URL of the role that owns the tables in \
         KEYWARD_MIGRATION_DATABASE_URL",
    );
    assert_eq!(warning["level"], "WARN");
    let refused = as_server(&["clean-up"]).run();
    assert_eq!(
        refused.refusal(),
        "old audit events stay, since the database lets this role only add events: set KEYWARD_MIGRATION_DATABASE_URL to \
         the URL of the role that owns the tables"
    );
    let removed = as_owner(&["clean-up"]).run();
    assert_eq!(removed.errors, "Removed 3 audit events.\n");
    assert_eq!(removed.success(), "");
    let nothing = as_owner(&["clean-up"]).run();
    assert_eq!(
        nothing.errors,
        "Nothing was removed: nothing is old enough, or a server is removing it right now.\n"
    );
    drop(server);
    let clean_up = format!("DROP OWNED BY {0}; DROP ROLE {0}", role.name);
    run(database.url(), &clean_up).await.unwrap();
}

#[test]
fn a_url_for_migrations_without_one_for_the_service_is_refused() {
    let answer = Keyward::new(&["migrate"])
        .variable(MIGRATION_URL, "postgres://owner:s3cret@localhost/keyward")
        .run();
    assert_eq!(
        answer.refusal(),
        "KEYWARD_MIGRATION_DATABASE_URL is set, but the database is a file: set KEYWARD_DATABASE_URL, too, or unset it"
    );
}

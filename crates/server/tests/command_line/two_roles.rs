//! A server whose own role may neither change tables nor audit events.

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

/// A database whose owner is no superuser, with a role beside it that serves. Roles are the whole server's,
/// so their names are their own.
struct TwoRoles {
    database: TestDatabase,
    owner: String,
    server: String,
}

/// The statements of `docs/choosing-a-database.md` for the serving role, in this order.
struct Guide {
    /// Run by a role that may create roles.
    create_role: String,
    /// By the owner, in the empty database.
    grant: String,
    /// By the owner, once there are tables.
    revoke: String,
}

impl TwoRoles {
    async fn new() -> Self {
        let database = TestDatabase::empty().await.unwrap();
        let [owner, server] = ["owner", "serve"].map(|role| format!("{}_{role}", database.name()));
        let statements = format!(
            "CREATE ROLE {owner} LOGIN PASSWORD 's3cret'; ALTER DATABASE {} OWNER TO {owner}",
            database.name()
        );
        run(database.url(), &statements).await.unwrap();
        Self {
            database,
            owner,
            server,
        }
    }

    fn guide(&self) -> Guide {
        let guide = include_str!("../../../../docs/choosing-a-database.md");
        let blocks = guide.split("```sql\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split_once("```"));
        let blocks: Vec<String> = blocks
            .map(|(block, _)| block.replace("keyward_serve", &self.server))
            .filter(|block| block.contains(&self.server))
            .collect();
        let [create_role, grant, revoke] = blocks.try_into().unwrap();
        Guide {
            create_role,
            grant,
            revoke,
        }
    }

    fn url_of(&self, role: &str) -> String {
        let (_, server_and_name) = self.database.url().rsplit_once('@').unwrap();
        format!("postgres://{role}:s3cret@{server_and_name}")
    }

    fn owner_url(&self) -> String {
        self.url_of(&self.owner)
    }

    fn server_url(&self) -> String {
        self.url_of(&self.server)
    }

    async fn remove_roles(self) {
        let Self {
            database,
            owner,
            server,
        } = self;
        let statements = format!(
            "DROP OWNED BY {server}; DROP ROLE {server};
             REASSIGN OWNED BY {owner} TO CURRENT_USER; DROP OWNED BY {owner}; DROP ROLE {owner}"
        );
        run(database.url(), &statements).await.unwrap();
    }
}

pub(crate) async fn run(url: &str, statements: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let outcome = client.batch_execute(statements).await;
    drop(client);
    connection.await.unwrap()?;
    outcome
}

#[tokio::test]
async fn serving_role_cannot_rewrite_the_audit_log() {
    let roles = TwoRoles::new().await;
    let guide = roles.guide();
    let (owner, server) = (roles.owner_url(), roles.server_url());
    run(roles.database.url(), &guide.create_role).await.unwrap();
    run(&owner, &guide.grant).await.unwrap();

    let alone = Keyward::new(&["migrate"]).database(&server).run();
    assert_eq!(alone.code, Some(1), "the role alone may not migrate: {alone:?}");
    let keyward = |command: &[&str]| {
        Keyward::new(command)
            .database(&server)
            .variable(MIGRATION_URL, &owner)
    };
    keyward(&["migrate"]).run().success();
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let warning = "database role may change and remove audit events";
    let warned = Server::spawn(keyward(&serve)).event(warning);
    assert_eq!(warned["level"], "WARN");
    run(&owner, &guide.revoke).await.unwrap();
    let bootstrap = [
        "admin",
        "bootstrap",
        "--organization=Acme & Sons",
        "--username=ada",
        "--password-stdin",
    ];
    keyward(&bootstrap).input(PASSWORD).run().success();
    let mut served = Server::listening_as(keyward(&serve));
    let signed_in = sign_in(&served, "ada", PASSWORD);
    let created = create_key(&served, cookie(&signed_in), "nightly");
    assert_eq!(created.status, 200, "{}", created.body);
    served.signal(Signal::TERM);
    let (_, log) = served.ended();
    assert!(!log.contains("database role may"), "{log}");

    for forbidden in [
        "UPDATE audit_events SET request_id = NULL",
        "DELETE FROM audit_events",
        "TRUNCATE audit_events",
        "ALTER TABLE audit_events DISABLE TRIGGER ALL",
        "DROP TABLE audit_events",
        "CREATE TABLE mine (id int)",
    ] {
        let refused = run(&server, forbidden).await.unwrap_err();
        assert_eq!(
            refused.code(),
            Some(&SqlState::INSUFFICIENT_PRIVILEGE),
            "{forbidden}"
        );
    }
    roles.remove_roles().await;
}

#[tokio::test]
async fn changes_are_unavailable_until_the_serving_role_has_its_privileges() {
    let roles = TwoRoles::new().await;
    let guide = roles.guide();
    let (owner, server) = (roles.owner_url(), roles.server_url());
    run(roles.database.url(), &guide.create_role).await.unwrap();
    run(&owner, &guide.grant).await.unwrap();
    bootstrap(&owner).success();
    let served = Server::start(&server, &[]);
    let signed_in = sign_in(&served, "ada", PASSWORD);
    for right in ["INSERT ON audit_events", "INSERT ON api_keys"] {
        let refused = format!("REVOKE {right} FROM {}", roles.server);
        run(&owner, &refused).await.unwrap();
        let answer = create_key(&served, cookie(&signed_in), "nightly");
        assert_eq!(answer.status, 503, "{right}: {}", answer.body);
        let granted = format!("GRANT {right} TO {}", roles.server);
        run(&owner, &granted).await.unwrap();
        let answer = create_key(&served, cookie(&signed_in), "nightly");
        assert_eq!(answer.status, 200, "{right}: {}", answer.body);
    }
    drop(served);
    roles.remove_roles().await;
}

#[tokio::test]
async fn audit_event_removal_requires_the_owner_role_and_is_reported() {
    let roles = TwoRoles::new().await;
    let guide = roles.guide();
    let (owner, server) = (roles.owner_url(), roles.server_url());
    run(roles.database.url(), &guide.create_role).await.unwrap();
    run(&owner, &guide.grant).await.unwrap();
    bootstrap(&owner).success();
    run(&owner, &guide.revoke).await.unwrap();
    run(&owner, OVER).await.unwrap();
    let as_server = |arguments: &[&str]| {
        Keyward::new(arguments)
            .database(&server)
            .variable("KEYWARD_KEEP_AUDIT_EVENTS", "365")
    };
    let as_owner = |arguments: &[&str]| as_server(arguments).variable(MIGRATION_URL, &owner);

    // That the server knows the owner changes nothing: it acts as its own role.
    let mut served = Server::listening_as(as_owner(&["serve", "--listen", "127.0.0.1:0"]));
    let warning = served.event(
        "old audit events cannot be removed, because this server's database role can only add events: run `keyward clean-up` \
         regularly, with the same options, and with the URL of the role that owns the tables in \
         KEYWARD_MIGRATION_DATABASE_URL",
    );
    assert_eq!(warning["level"], "WARN");
    let refused = as_server(&["clean-up"]).run();
    assert_eq!(
        refused.refusal(),
        "old audit events were not removed, because this database role can only add events: set \
         KEYWARD_MIGRATION_DATABASE_URL to the URL of the role that owns the tables"
    );
    let removed = as_owner(&["clean-up"]).run();
    assert_eq!(removed.errors, "Removed 3 audit events.\n");
    assert_eq!(removed.success(), "");
    let nothing = as_owner(&["clean-up"]).run();
    assert_eq!(
        nothing.errors,
        "Nothing was removed, because nothing is past its retention period or a server is already removing it.\n"
    );
    drop(served);
    roles.remove_roles().await;
}

#[tokio::test]
async fn owner_of_another_database_changes_nothing() {
    let (database, other) = (
        TestDatabase::empty().await.unwrap(),
        TestDatabase::empty().await.unwrap(),
    );
    bootstrap(database.url()).success();
    bootstrap(other.url()).success();
    run(other.url(), OVER).await.unwrap();
    let kept = rows(other.url()).await;
    for command in [
        &["clean-up"][..],
        &["clean-up", "--clock-is-right"],
        &["migrate"],
        &["import"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        let answer = Keyward::new(command)
            .database(database.url())
            .variable(MIGRATION_URL, other.url())
            .run();
        assert_eq!(answer.code, Some(1), "{command:?}: {answer:?}");
        assert!(
            answer.errors.contains("leads to another database"),
            "{command:?}: {answer:?}"
        );
    }
    assert_eq!(rows(other.url()).await, kept);
}

/// How many events, sessions and invitations there are.
async fn rows(url: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    let sum = "SELECT (SELECT count(*) FROM audit_events) + (SELECT count(*) FROM sessions) + (SELECT count(*) FROM invitations)";
    let rows = client.query_one(sum, &[]).await.unwrap().get(0);
    drop(client);
    connection.await.unwrap().unwrap();
    rows
}

#[tokio::test]
async fn import_for_a_serving_role_requires_the_owner() {
    let source = TestDatabase::empty().await.unwrap();
    bootstrap(source.url()).success();
    let exported = Keyward::new(&["export"]).database(source.url()).run().success();
    let roles = TwoRoles::new().await;
    let guide = roles.guide();
    let (owner, server) = (roles.owner_url(), roles.server_url());
    run(roles.database.url(), &guide.create_role).await.unwrap();
    run(&owner, &guide.grant).await.unwrap();
    let keyward = |command: &[&str]| {
        Keyward::new(command)
            .database(&server)
            .variable(MIGRATION_URL, &owner)
    };
    keyward(&["migrate"]).run().success();
    run(&owner, &guide.revoke).await.unwrap();
    let alone = Keyward::new(&["import"])
        .database(&server)
        .input(exported.clone())
        .run();
    assert_eq!(
        alone.refusal(),
        "nothing was imported, because this database role may not write all tables (set KEYWARD_MIGRATION_DATABASE_URL to the \
         URL of the role that owns them): permission denied for table audit_events"
    );
    keyward(&["import"]).input(exported).run().success();
    assert_eq!(rows(&owner).await, rows(source.url()).await);
    roles.remove_roles().await;
}

#[test]
fn migration_url_without_service_url_is_rejected() {
    let answer = Keyward::new(&["migrate"])
        .variable(MIGRATION_URL, "postgres://owner:s3cret@localhost/keyward")
        .run();
    assert_eq!(
        answer.refusal_of_options(),
        "KEYWARD_MIGRATION_DATABASE_URL is set, but the database is a file: set KEYWARD_DATABASE_URL, too, or unset it"
    );
}

//! An import is all or nothing.

use keyward_persistence::transfer::ImportError;

use crate::database::Database;
use crate::transfer::everything::{everything, export_of, finished, id, installation, rows};

/// The sentence and what the database says, of a refusal that changed nothing.
async fn refusal(database: &Database, export: impl Into<Vec<u8>>) -> String {
    let before = database.export().await;
    let error = database.import(export).await.expect_err("a refusal");
    assert!(database.export().await == before, "something was changed");
    match &error {
        ImportError::RowRefused { source, .. } => format!("{error}: {source}"),
        ImportError::NotEmpty
        | ImportError::Invalid(_)
        | ImportError::NotAllowed(_)
        | ImportError::Storage(_) => error.to_string(),
    }
}

/// The export with one line changed; the digest is that of the original.
fn with_line(export: &str, number: usize, change: impl Fn(&str) -> String) -> String {
    let lines = export.split_inclusive('\n').enumerate();
    lines
        .map(|(index, line)| {
            if index + 1 == number {
                change(line)
            } else {
                line.to_owned()
            }
        })
        .collect()
}

#[tokio::test]
async fn truncated_export_is_refused_at_any_position() {
    let everything = everything().await;
    let last_line = everything.lines().count();
    let ends: Vec<usize> = everything.match_indices('\n').map(|(end, _)| end + 1).collect();
    for database in Database::both().await {
        for lines in [1, 2, 9, 600, last_line - 1] {
            let end = ends[lines - 1];
            let expected =
                |line| format!("the export was cut off: it ends at line {line}, without the last line");
            // At the end of a line, within the next one, and just before its end.
            for end in [end, end + 1, ends[lines] - 1] {
                let cut = &everything[..end];
                assert_eq!(refusal(&database, cut).await, expected(lines + 1));
            }
        }
        for (beginning, end) in [("", 0), ("not even a line", 15), ("", 10)] {
            let cut = if beginning.is_empty() {
                &everything[..end]
            } else {
                beginning
            };
            assert_eq!(
                refusal(&database, cut).await,
                "line 1 is not the first line of an export of Keyward"
            );
        }
    }
}

#[tokio::test]
async fn altered_export_is_refused() {
    let everything = everything().await;
    let last_line = everything.lines().count();
    let altered =
        format!("the export was altered: line {last_line}, the last one, does not fit the lines before it");
    let lacking = format!(
        "the export was altered: line {}, the last one, does not fit the lines before it",
        last_line - 1
    );
    for database in Database::both().await {
        let role = with_line(&everything, 6, |line| line.replace("member\"", "owner\""));
        assert_ne!(role, everything);
        assert_eq!(refusal(&database, role).await, altered);
        for number in [14, 700, last_line - 1] {
            let without = with_line(&everything, number, |_| String::new());
            assert_eq!(refusal(&database, without).await, lacking, "{number}");
        }
        let spaces = with_line(&everything, 700, |line| {
            line.replace("\"outcome\":", "\"outcome\": ")
        });
        assert_eq!(refusal(&database, spaces).await, altered);
        let counts = with_line(&everything, last_line, |line| {
            line.replace("\"users\":2", "\"users\":3")
        });
        assert_eq!(refusal(&database, counts).await, altered);
    }
}

#[tokio::test]
async fn hash_with_excessive_costs_is_refused_with_its_location() {
    let everything = everything().await;
    let costly = with_line(&everything, 3, |line| line.replace("$m=1,", "$m=4294967295,"));
    assert_ne!(costly, everything);
    for database in Database::both().await {
        assert_eq!(
            refusal(&database, costly.clone()).await,
            format!(
                "line 3: checking a password against the hash in users.password_hash of {} costs more than against a hash \
                 of Keyward's, so it is none",
                id(2)
            )
        );
    }
}

#[tokio::test]
async fn import_keeps_every_index_of_the_migrations() {
    for database in Database::both().await {
        let indexes = if database.is_postgres() {
            "SELECT indexdef AS text FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        } else {
            "SELECT coalesce(sql, name) AS text FROM sqlite_schema WHERE type = 'index' ORDER BY 1"
        };
        let before = database.texts(indexes).await;
        database.import(everything().await).await.expect("an import");
        assert_eq!(database.texts(indexes).await, before);
    }
}

#[tokio::test]
async fn malformed_line_is_named_but_not_repeated() {
    let everything = everything().await;
    for database in Database::both().await {
        for (number, change) in [
            (2, &(|_: &str| "\n".to_owned()) as &dyn Fn(&str) -> String),
            (3, &|line: &str| line.replace("{\"users\":", "{\"ghosts\":")),
            (3, &|line: &str| line.replace("\"ada\"", "7")),
            (3, &|line: &str| line.replace("\"username\":", "\"name\":")),
            (3, &|line: &str| {
                line.replace("\"}}", "\",\"more\":\"$argon2id\"}}")
            }),
            (3, &|line: &str| line.replace("2026-01-01", "2026-02-30")),
            (12, &|line: &str| line.replace("ffff", "FFFF")),
            (700, &|line: &str| line.replace("}}", "}")),
        ] {
            let garbled = with_line(&everything, number, change);
            let refusal = refusal(&database, garbled).await;
            let beginning = format!("line {number} is garbled at its column ");
            assert!(refusal.starts_with(&beginning), "{refusal}");
            assert!(!refusal.contains("argon2id"), "{refusal}");
        }
        let mut not_text = everything.clone().into_bytes();
        let position = everything.find("\"ada\"").expect("a name") + 2;
        not_text[position] = 0xff;
        assert!(
            refusal(&database, not_text)
                .await
                .starts_with("line 3 is garbled")
        );
        let long = with_line(&everything, 9, |line| " ".repeat(1024 * 1024) + line);
        assert_eq!(
            refusal(&database, long).await,
            "line 9 is longer than any line of an export"
        );
        let last_line = everything.lines().count();
        assert_eq!(
            refusal(&database, format!("{everything}\n")).await,
            format!("line {} follows the last line of the export", last_line + 1)
        );
    }
}

#[tokio::test]
async fn export_of_another_version_is_refused_with_advice() {
    let everything = everything().await;
    let newer = "line 1: a newer Keyward made this export, so import it with that version";
    let older = "line 1: an older Keyward made this export, so import it with that version, and let this one update \
                 the database afterwards";
    let too_old = "line 1: this export is from before Keyward's first release and cannot be imported";
    for database in Database::both().await {
        for (format, schema, expected) in [
            ("1", "99991231000000", newer),
            ("2", "20000101000000", newer),
            ("1", "20261122150000", too_old),
            ("0", "99991231000000", older),
        ] {
            let first_line = format!(
                "{{\"keyward_export\":{{\"format\":{format},\"schema\":\"{schema}\",\"more\":null}}}}\n"
            );
            let other = with_line(&everything, 1, |_| first_line.clone());
            assert_eq!(refusal(&database, other).await, expected);
        }
    }
}

#[tokio::test]
async fn nonempty_database_is_unchanged_by_import() {
    let everything = everything().await;
    let not_empty = "the database is not empty: import into a new one, so that nothing is mixed or lost";
    for database in Database::both().await {
        database
            .execute("INSERT INTO users SELECT * FROM users WHERE false")
            .await;
        database.import(everything.clone()).await.expect("an import");
        assert_eq!(refusal(&database, everything.clone()).await, not_empty);
    }
    let throttle = everything
        .lines()
        .find(|line| line.starts_with("{\"sign_in_throttle\""))
        .expect("a row")
        .to_owned();
    let link = format!(
        r#"null,"setup_link_digest":"{}","setup_link_expires_at":"2026-01-01T00:00:00Z""#,
        "5a".repeat(32)
    );
    let nothing = r#"null,"setup_link_digest":null,"setup_link_expires_at":null"#;
    for something in [vec![installation(&link)], vec![throttle, installation(nothing)]] {
        let something = export_of(&something).await;
        for database in Database::both().await {
            database.import(something.clone()).await.expect("an import");
            assert_eq!(refusal(&database, everything.clone()).await, not_empty);
        }
    }
}

#[tokio::test]
async fn rows_violating_a_constraint_are_refused() {
    let whole = rows();
    let of_line = |database: &Database, line: usize, rows: usize| {
        if database.is_postgres() {
            format!(
                "the database refuses one of the lines 2 to {}: ",
                (rows + 1).min(501)
            )
        } else {
            format!("the database refuses line {line}: ")
        }
    };
    for database in Database::both().await {
        // The same user twice.
        let mut twice = whole.clone();
        twice.insert(2, whole[1].clone());
        let refused = refusal(&database, export_of(&twice).await).await;
        assert!(
            refused.starts_with(&of_line(&database, 4, twice.len())),
            "{refused}"
        );

        // Members of no organization.
        let orphans = &whole[1..];
        let refused = refusal(&database, export_of(orphans).await).await;
        assert!(
            refused.starts_with(&of_line(&database, 4, orphans.len())),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn values_the_database_cannot_store_are_refused_instead_of_altered() {
    let mut nul = rows();
    nul[1] = nul[1].replace("\"search_text\":\"", "\"search_text\":\"\\u0000");
    let nul = export_of(&nul).await;
    let [postgres, sqlite] = Database::both().await;
    let refused = refusal(&postgres, nul.clone()).await;
    assert!(refused.contains("one of the lines 2 to 501"), "{refused}");
    sqlite.import(nul.clone()).await.expect("SQLite keeps it");
    assert!(sqlite.export().await == nul);

    let mut micro = rows();
    micro[1] = micro[1].replace(".001Z", ".001002Z");
    let sqlite = Database::sqlite().await;
    assert_eq!(
        refusal(&sqlite, export_of(&micro).await).await,
        "the database refuses line 3: the moment 2026-01-01T00:00:00.001002Z has parts of a millisecond, which \
         SQLite's tables do not keep"
    );
}

#[tokio::test]
async fn rows_that_contradict_each_other_are_refused() {
    let (acme, child) = (id(1), id(8));
    for (number, from, to, problem) in [
        (
            3,
            r#""ended_at":null"#,
            r#""ended_at":"2027-01-01T00:00:00Z""#,
            format!("organizations.id of {acme}: no owner without a planned end"),
        ),
        (
            3,
            r#""role":"owner""#,
            r#""role":"member""#,
            format!("organizations.id of {acme}: no owner without a planned end"),
        ),
        (
            10,
            r#""tree_depth":0"#,
            r#""tree_depth":1"#,
            format!("api_keys.tree_depth of {child}: not greater than its parent's"),
        ),
    ] {
        let mut rows = rows();
        let row = rows[number].replace(from, to);
        assert_ne!(rows[number], row);
        rows[number] = row;
        for database in Database::both().await {
            assert_eq!(
                refusal(&database, export_of(&rows).await).await,
                format!(
                    "rows of the export contradict each other (corrupt row in storage: {problem}): correct that row in the \
                     database that the export came from, and export again"
                )
            );
        }
    }
}

#[tokio::test]
async fn export_without_the_installation_row_is_refused() {
    let mut without = rows();
    without.pop();
    let export = export_of(&without).await;
    let lines = export.lines().count();
    for database in Database::both().await {
        assert_eq!(
            refusal(&database, export.clone()).await,
            format!("the export was altered: line {lines}, the last one, does not fit the lines before it")
        );
    }
    let nothing = finished(
        export_of(&[])
            .await
            .lines()
            .take(1)
            .map(|line| format!("{line}\n"))
            .collect(),
    );
    assert!(
        refusal(&Database::sqlite().await, nothing)
            .await
            .contains("altered")
    );
}

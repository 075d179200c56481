//! `keyward-service` of the Debian package, with other paths and without another user.

use std::path::Path;
use std::process::{Output, Stdio};

use tempfile::TempDir;
use tokio::process::Command;

use keyward_tests::keyward::{OWNER_PASSWORD, binary, keyward};
use keyward_tests::storage::Storage;

/// A machine with the package, whose service uses a PostgreSQL database.
struct Machine {
    folder: TempDir,
    lost: Storage,
    _restored: Storage,
}

impl Machine {
    /// Its service's database has the organization `restored`; beside it there is one with `lost`.
    async fn after_a_restore() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        std::fs::create_dir(folder.path().join("data")).expect("a folder");
        let [lost, restored] = ["lost", "restored"].map(set_up);
        let (lost, restored) = (lost.await, restored.await);
        let file = |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("a file");
        file("lost-url", lost.as_postgres().url().to_owned());
        file("database-url", restored.as_postgres().url().to_owned());
        let url_file = folder.path().join("database-url");
        file(
            "keyward.env",
            format!("KEYWARD_DATABASE_URL_FILE={}\n", url_file.display()),
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/packaging/keyward-service");
        let mut script = std::fs::read_to_string(script).expect("the package's command");
        let here = folder.path().display().to_string();
        for (part, with) in [
            ("\"$(id -u)\" -ne 0", "1 -ne 1".to_owned()),
            ("/var/lib/keyward", format!("{here}/data")),
            (". /etc/keyward/keyward.env", format!(". {here}/keyward.env")),
            (
                "setpriv --reuid=keyward --regid=keyward --init-groups --no-new-privs /usr/bin/keyward",
                binary(),
            ),
        ] {
            assert!(script.contains(part), "no {part} to replace");
            script = script.replace(part, &with);
        }
        file("keyward-service", script);
        Self {
            folder,
            lost,
            _restored: restored,
        }
    }

    /// Runs the package's command with these variables of the caller.
    async fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        Command::new("sh")
            .arg(self.folder.path().join("keyward-service"))
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .await
            .expect("sh runs")
    }

    fn lost_url_file(&self) -> String {
        let file = self.folder.path().join("lost-url");
        format!("KEYWARD_DATABASE_URL_FILE={}", file.display())
    }
}

/// A database with an organization of this name.
async fn set_up(organization: &str) -> Storage {
    use tokio::io::AsyncWriteExt as _;

    let storage = Storage::postgres().await;
    let mut bootstrap = keyward(&storage)
        .args(["admin", "bootstrap", "--username=ada", "--password-stdin"])
        .arg(format!("--organization={organization}"))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("keyward starts");
    let mut stdin = bootstrap.stdin.take().expect("standard input");
    stdin
        .write_all(OWNER_PASSWORD.as_bytes())
        .await
        .expect("input is read");
    drop(stdin);
    assert!(bootstrap.wait().await.expect("keyward ends").success());
    storage
}

const AUDIT_LOG: [&str; 5] = ["admin", "audit-log", "--after", "start", "--all"];

#[tokio::test(flavor = "multi_thread")]
async fn service_command_reads_the_database_that_its_argument_names() {
    let machine = Machine::after_a_restore().await;
    let lost_url_file = machine.lost_url_file();
    let of_lost = [&[lost_url_file.as_str()], &AUDIT_LOG[..]].concat();
    for (arguments, organization) in [(&AUDIT_LOG[..], "restored"), (&of_lost, "lost")] {
        let output = machine.run(&[], arguments).await;
        assert!(output.status.success(), "{output:?}");
        let log = String::from_utf8_lossy(&output.stdout);
        assert!(log.contains(&format!("\"name\":\"{organization}\"")), "{log}");
    }
}

/// In place of reading the service's own database.
#[tokio::test(flavor = "multi_thread")]
async fn service_command_refuses_to_ignore_which_database_its_caller_names() {
    let machine = Machine::after_a_restore().await;
    let url = machine.lost.as_postgres().url();
    let file = machine.folder.path().join("lost-url");
    let file = file.to_str().expect("text");
    for (variables, argument) in [
        (&[("KEYWARD_DATABASE_URL", url)][..], None),
        (&[("KEYWARD_DATABASE_URL_FILE", file)], None),
        (&[("KEYWARD_DATA_DIR", "/nowhere")], None),
        // A command line is no place for a password.
        (&[], Some(format!("KEYWARD_DATABASE_URL={url}"))),
        // These would be read elsewhere, or not at all.
        (&[], Some("KEYWARD_DATABASE_URL_FILE=lost-url".to_owned())),
        (&[], Some("KEYWARD_DATABASE_URL_FILE=".to_owned())),
        (&[], Some("KEYWARD_DATA_DIR=/nowhere".to_owned())),
    ] {
        let arguments: Vec<&str> = argument.as_deref().into_iter().chain(AUDIT_LOG).collect();
        let output = machine.run(variables, &arguments).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.starts_with("keyward-service: "), "{errors}");
        assert!(!errors.contains(url), "{errors}");
    }
    let harmless = machine.run(&[("KEYWARD_LOG_FORMAT", "wrong")], &AUDIT_LOG).await;
    assert!(harmless.status.success(), "{harmless:?}");
}

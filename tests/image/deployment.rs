//! Keyward in containers, with a read-only root and without capabilities. Removed with the value.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::engine::{Image, compose, docker, output, repository};

/// How long containers may take to be healthy on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// How often to ask.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) struct Deployment {
    project: String,
    base_url: String,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// One container, with the embedded database on a volume.
    Alone,
    /// What `compose.yaml` says.
    Compose,
}

impl Deployment {
    pub(crate) fn alone(image: &Image) -> Self {
        let deployment = Self::new("alone", Kind::Alone);
        let publish = format!("{}:8080", deployment.authority());
        let public_url = format!("KEYWARD_PUBLIC_URL={}", deployment.base_url);
        let volume = format!("{}:/var/lib/keyward", deployment.project);
        docker(&[
            "run",
            "--detach",
            "--name",
            &deployment.project,
            "--publish",
            &publish,
            "--env",
            &public_url,
            "--volume",
            &volume,
            "--read-only",
            "--cap-drop",
            "ALL",
            "--security-opt",
            "no-new-privileges",
            image.name(),
        ]);
        deployment
    }

    pub(crate) fn with_postgres(image: &Image) -> Self {
        let deployment = Self::new("compose", Kind::Compose);
        output(
            deployment
                .compose(image.name())
                .args(["up", "--detach", "--no-build"]),
            "",
        );
        deployment
    }

    fn new(name: &str, kind: Kind) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = free.local_addr().expect("its address");
        Self {
            project: format!("keyward-{name}-{}", std::process::id()),
            base_url: format!("http://{address}"),
            kind,
        }
    }

    /// `compose` with the variables that a file `.env` would have.
    fn compose(&self, image: &str) -> Command {
        let port = self.base_url.rsplit(':').next().expect("a port");
        let mut compose = compose();
        compose
            .args(["--project-name", &self.project])
            .current_dir(repository())
            .env("KEYWARD_IMAGE", image)
            .env("KEYWARD_DATABASE_PASSWORD", "made-up-for-a-test")
            .env("KEYWARD_PORT", port)
            .env("KEYWARD_PUBLIC_URL", &self.base_url);
        compose
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.kind {
            Kind::Alone => "alone, with the embedded database on a volume",
            Kind::Compose => "by compose.yaml, with PostgreSQL",
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    fn authority(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }

    /// The container that serves.
    fn container(&self) -> String {
        match self.kind {
            Kind::Alone => self.project.clone(),
            Kind::Compose => {
                let id = output(self.compose("").args(["ps", "--quiet", "keyward"]), "");
                id.trim().to_owned()
            }
        }
    }

    /// As the image's own health check has it.
    pub(crate) async fn wait_until_healthy(&self) {
        let begin = Instant::now();
        let container = self.container();
        loop {
            let health = docker(&["inspect", "--format", "{{.State.Health.Status}}", &container]);
            if health.trim() == "healthy" {
                return;
            }
            if begin.elapsed() > TIMEOUT {
                // The server logs on standard error, and so does `docker logs` what it logged there.
                docker(&["logs", "--tail=20", &container]);
                panic!("{} is {health}; its last lines stand above", self.name());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// A command (words between spaces) in the container.
    pub(crate) fn keyward(&self, command_line: &str, input: &str) -> String {
        let mut command = Command::new("docker");
        command.args(["exec", "--interactive", &self.container(), "keyward"]);
        output(command.args(command_line.split(' ')), input)
    }

    /// Ends it as the engine does, by SIGTERM, and starts it again.
    pub(crate) fn restart(&self) {
        let container = self.container();
        docker(&["stop", &container]);
        let exit = docker(&["inspect", "--format", "{{.State.ExitCode}}", &container]);
        assert_eq!(exit.trim(), "0", "{} was killed", self.name());
        docker(&["start", &container]);
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        // What cannot be removed is named by the engine; there is nothing else to do about it.
        let _ = match self.kind {
            Kind::Alone => {
                let _ = quiet(Command::new("docker").args(["rm", "--force", &self.project]));
                quiet(Command::new("docker").args(["volume", "rm", &self.project]))
            }
            Kind::Compose => quiet(self.compose("").args(["down", "--volumes"])),
        };
    }
}

fn quiet(command: &mut Command) -> std::io::Result<std::process::ExitStatus> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status()
}

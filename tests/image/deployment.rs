//! Keyward in containers: with a read-only root and without capabilities, or as a service of a Debian
//! machine. Removed with the value.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::engine::{Image, compose, docker, output, repository};
use crate::machine;

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
    /// The containers of `compose.yaml`.
    Compose,
    /// The Debian package, on a machine whose first process is systemd.
    Service,
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

    pub(crate) fn as_service(machine: &Image) -> Self {
        let deployment = Self::new("service", Kind::Service);
        machine::start(machine, &deployment.project, deployment.authority());
        machine::install(&deployment.project);
        machine::configure(&deployment.project, &deployment.base_url);
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
            Kind::Service => "from the Debian package, as a systemd service",
        }
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    fn authority(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }

    /// The container that serves.
    pub(crate) fn container(&self) -> String {
        match self.kind {
            Kind::Alone | Kind::Service => self.project.clone(),
            Kind::Compose => {
                let id = output(self.compose("").args(["ps", "--quiet", "keyward"]), "");
                id.trim().to_owned()
            }
        }
    }

    /// As `keyward healthcheck` has it, which the image's own health check runs.
    pub(crate) async fn wait_until_healthy(&self) {
        let begin = Instant::now();
        let container = self.container();
        loop {
            if self.is_healthy(&container) {
                return;
            }
            if begin.elapsed() > TIMEOUT {
                match self.kind {
                    // The server logs on standard error, and `docker logs` prints that there, too.
                    Kind::Alone | Kind::Compose => docker(&["logs", "--tail=20", &container]),
                    Kind::Service => machine::last_lines(&container),
                };
                panic!("{} is not healthy; its last lines stand above", self.name());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn is_healthy(&self, container: &str) -> bool {
        match self.kind {
            Kind::Alone | Kind::Compose => {
                let health = docker(&["inspect", "--format", "{{.State.Health.Status}}", container]);
                health.trim() == "healthy"
            }
            Kind::Service => machine::is_healthy(container),
        }
    }

    /// A command (words between spaces) in the container.
    pub(crate) fn keyward(&self, command_line: &str, input: &str) -> String {
        let program = match self.kind {
            Kind::Alone | Kind::Compose => "keyward",
            Kind::Service => machine::COMMAND,
        };
        let mut command = Command::new("docker");
        command.args(["exec", "--interactive", &self.container(), program]);
        output(command.args(command_line.split(' ')), input)
    }

    /// Ends it as the engine or systemd does, by SIGTERM, and starts it again.
    pub(crate) fn restart(&self) {
        let container = self.container();
        if matches!(self.kind, Kind::Service) {
            return machine::restart(&container);
        }
        docker(&["stop", &container]);
        let exit = docker(&["inspect", "--format", "{{.State.ExitCode}}", &container]);
        assert_eq!(exit.trim(), "0", "{} was killed", self.name());
        docker(&["start", &container]);
    }
}

impl Drop for Deployment {
    fn drop(&mut self) {
        // The engine reports what it cannot remove; nothing else can be done about it.
        let _ = match self.kind {
            Kind::Alone => {
                let _ = quiet(Command::new("docker").args(["rm", "--force", &self.project]));
                quiet(Command::new("docker").args(["volume", "rm", &self.project]))
            }
            Kind::Compose => quiet(self.compose("").args(["down", "--volumes"])),
            Kind::Service => quiet(Command::new("docker").args(["rm", "--force", &self.project])),
        };
    }
}

fn quiet(command: &mut Command) -> std::io::Result<std::process::ExitStatus> {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status()
}

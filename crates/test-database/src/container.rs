//! A PostgreSQL server in a container, through testcontainers.

use std::env;
use std::thread;
use std::time::Duration;

use testcontainers::core::{IntoContainerPort, Mount, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::ServerUrl;
use crate::server_url::answers;
use crate::unique::random_hex;

/// The variable that names another image, as `name:tag`.
const IMAGE_VARIABLE: &str = "TEST_DATABASE_IMAGE";

const DEFAULT_IMAGE: &str = "postgres:15-bookworm";

/// Where the image keeps its data.
const DATA: &str = "/var/lib/postgresql/data";

/// How often the server is asked whether it answers: the official image logs that it is ready once before it
/// is, for the server that only initializes.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const POLLS: u32 = 1_200;

/// A running container; dropping it removes it and its data.
#[derive(Debug)]
pub(crate) struct Container {
    url: ServerUrl,
    stop: Option<oneshot::Sender<()>>,
    keeper: Option<thread::JoinHandle<()>>,
}

impl Container {
    /// Starts one. A thread of its own keeps it, because the container must be removed from the runtime that
    /// it was started on, and that one must outlive every test's.
    pub(crate) async fn start() -> Result<Self, String> {
        let (stop, stopped) = oneshot::channel();
        let (started, running) = oneshot::channel();
        let keeper = thread::spawn(move || hold_until_stopped(started, stopped));
        let url = running
            .await
            .map_err(|_| "the thread that starts containers panicked".to_owned())??;
        Ok(Self {
            url,
            stop: Some(stop),
            keeper: Some(keeper),
        })
    }

    pub(crate) fn url(&self) -> &ServerUrl {
        &self.url
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(keeper) = self.keeper.take() {
            // A panic there was printed there.
            let _ = keeper.join();
        }
    }
}

fn hold_until_stopped(started: oneshot::Sender<Result<ServerUrl, String>>, stopped: oneshot::Receiver<()>) {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            // The receiver is dropped only when the start was given up.
            let _ = started.send(Err(format!("no runtime: {error}")));
            return;
        }
    };
    runtime.block_on(async {
        match start_postgres().await {
            Ok((url, container)) => {
                if started.send(Ok(url)).is_ok() {
                    // The sender is dropped, never used: either way it is time to stop.
                    let _ = stopped.await;
                }
                // What cannot be removed stays, labelled as managed by testcontainers.
                let _ = container.rm().await;
            }
            Err(obstacle) => {
                let _ = started.send(Err(obstacle));
            }
        }
    });
}

async fn start_postgres() -> Result<(ServerUrl, ContainerAsync<GenericImage>), String> {
    let image = env::var(IMAGE_VARIABLE).unwrap_or_else(|_| DEFAULT_IMAGE.to_owned());
    let (name, tag) = split_image(&image);
    let password = format!("{}{}", random_hex(), random_hex());
    let container = GenericImage::new(name, tag)
        .with_exposed_port(5432.tcp())
        .with_wait_for(WaitFor::message_on_stderr(
            "database system is ready to accept connections",
        ))
        .with_env_var("POSTGRES_PASSWORD", &password)
        // In memory: on ext4, PostgreSQL spent up to two fifths of its time on finding inodes for the files
        // of new databases.
        .with_mount(Mount::tmpfs_mount(DATA))
        .with_cmd([
            "postgres",
            "-c",
            "max_connections=400",
            "-c",
            "fsync=off",
            "-c",
            "synchronous_commit=off",
            "-c",
            "full_page_writes=off",
        ])
        .start()
        .await
        .map_err(|error| format!("{image}: {error}"))?;
    let host = container
        .get_host()
        .await
        .map_err(|error| error.to_string())?
        .to_string();
    // The engine publishes the port for IPv4; `localhost` may mean IPv6 first.
    let host = if host == "localhost" {
        "127.0.0.1".to_owned()
    } else {
        host
    };
    let port = container
        .get_host_port_ipv4(5432.tcp())
        .await
        .map_err(|error| error.to_string())?;
    let url = ServerUrl::parse(&format!("postgres://postgres:{password}@{host}:{port}/postgres"))
        .map_err(|error| error.to_string())?;
    wait_until_it_answers(&url).await?;
    Ok((url, container))
}

async fn wait_until_it_answers(url: &ServerUrl) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..POLLS {
        match answers(url).await {
            Ok(()) => return Ok(()),
            Err(reason) => last = reason,
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Err(format!(
        "the server in the container did not answer in time: {last}"
    ))
}

/// `registry:5000/name:tag` into its name and tag; a colon before the last slash belongs to a port.
fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_a_name_and_tag_on_any_registry() {
        assert_eq!(split_image("postgres:15-bookworm"), ("postgres", "15-bookworm"));
        assert_eq!(
            split_image("localhost:5000/postgres:17"),
            ("localhost:5000/postgres", "17")
        );
        assert_eq!(
            split_image("localhost:5000/postgres"),
            ("localhost:5000/postgres", "latest")
        );
    }
}

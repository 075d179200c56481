//! A front door that is open.

use std::{
    net::{Ipv6Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use keyward_front_door::{Drained, FrontDoor, FrontDoorConfig, Refused, listen};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};
use uuid::Uuid;

use crate::{
    app::{App, Stage},
    client::{Client, soon},
};

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) stage: Stage,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<Drained>,
}

/// The defaults, with ids that count up and error pages that contain their arguments.
pub(crate) fn config() -> FrontDoorConfig {
    let latest = AtomicU64::new(0);
    let mut config = FrontDoorConfig::new(Arc::new(move || {
        Uuid::from_u64_pair(0, latest.fetch_add(1, Ordering::SeqCst) + 1)
    }));
    config.error_pages = Arc::new(|refused: &Refused<'_>| {
        let Refused {
            reason,
            method,
            uri,
            headers,
            request_id,
        } = refused;
        let accept = headers
            .get("accept")
            .map_or("", |accept| accept.to_str().unwrap());
        poem::Response::from(format!("{reason:?} {method} {uri} {request_id}{accept}"))
    });
    config
}

pub(crate) fn request_id(number: u64) -> String {
    Uuid::from_u64_pair(0, number).to_string()
}

impl Running {
    pub(crate) async fn with(change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        Self::on(listen(([127, 0, 0, 1], 0).into()).unwrap(), change).await
    }

    /// Listens for IPv4 and, where the machine has it, IPv6 on one socket; clients come by IPv4.
    pub(crate) async fn on_both_families(change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        let any = listen((Ipv6Addr::UNSPECIFIED, 0).into());
        let listener = any.unwrap_or_else(|_| listen(([127, 0, 0, 1], 0).into()).unwrap());
        Self::on(listener, change).await
    }

    async fn on(listener: TcpListener, change: impl FnOnce(&mut FrontDoorConfig)) -> Self {
        let mut config = config();
        change(&mut config);
        let front_door = FrontDoor::new(config).unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = ([127, 0, 0, 1], port).into();
        let stage = Stage::new();
        let app = App {
            stage: stage.clone(),
            readiness: front_door.readiness(),
        };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(front_door.serve(listener, app, async {
            _ = stopped.await;
        }));
        Self {
            address,
            stage,
            stop: Some(stop),
            serving,
        }
    }

    pub(crate) async fn with_defaults() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    pub(crate) fn stop(&mut self) {
        self.stop
            .take()
            .expect("it stops once")
            .send(())
            .expect("it runs");
    }

    /// Waits until serving has ended.
    pub(crate) async fn ended(self) -> Drained {
        soon(self.serving).await.unwrap()
    }
}

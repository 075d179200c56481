//! Figures of Keyward by itself.

use std::time::Duration;

use reqwest::StatusCode;
use tokio::time::sleep;

use crate::figures::median;
use crate::large_organization::page_millis;
use crate::options::Options;
use crate::polling;
use crate::process::{Server, version_time};
use crate::rows::{Cache, Database, Figure, Meanwhile, Single};
use crate::scene::{Scene, guessed};
use crate::steady::each_once;
use crate::token::well_formed;
use keyward_tests::keyward::binary;

/// How long a server that is ready is left alone before its memory is looked at.
const REST: Duration = Duration::from_secs(2);

/// All values that were measured.
pub(crate) async fn measure(single: &Single, scene: &Scene, options: &Options) -> Vec<f64> {
    match single.what {
        Figure::StartToReady(database) => {
            let storage = scene.storage(database);
            let mut values = Vec::new();
            for _ in 0..options.rounds {
                let version = version_time().await;
                let server = Server::keyward(storage, Cache::On, Meanwhile::Nothing, &[]).await;
                let more = server.started_in.as_secs_f64() - version.as_secs_f64();
                values.push(more * 1e3);
                server.end().await;
            }
            values
        }
        Figure::BinarySize => {
            let bytes = std::fs::metadata(binary()).expect("the binary").len();
            vec![bytes as f64 / 1_048_576.0]
        }
        Figure::Polling(servers) => {
            let storage = scene.storage(Database::Postgres);
            polling::database_millis(storage, servers, options.rounds, options.time()).await
        }
        Figure::Page(database, person, page) => {
            let page = scene.page_of_large_organization(page).await;
            page_millis(scene.storage(database), person, &page, options.rounds).await
        }
        Figure::IdleMemory(database) => {
            let storage = scene.storage(database);
            let server = Server::keyward(storage, Cache::On, Meanwhile::Nothing, &[]).await;
            sleep(REST).await;
            let values = vec![server.resident_mib()];
            server.end().await;
            values
        }
        Figure::MemoryWithManyKeys => {
            let (storage, keys) = scene.many_keys();
            let server = Server::keyward(storage, Cache::On, Meanwhile::Nothing, &[]).await;
            let tokens = (1..=keys).map(well_formed).collect();
            each_once(&server, "/api/v1/user", tokens, StatusCode::OK).await;
            server.wait_until_idle().await;
            let values = vec![server.resident_mib()];
            server.end().await;
            values
        }
        Figure::MemoryOfGuesses(guesses) => {
            let storage = scene.storage(Database::Postgres);
            let server = Server::keyward(storage, Cache::On, Meanwhile::Nothing, &[]).await;
            sleep(REST).await;
            let before = server.resident_mib();
            let tokens = (1..=guesses).map(guessed).collect();
            each_once(&server, "/api/v1/user", tokens, StatusCode::UNAUTHORIZED).await;
            server.wait_until_idle().await;
            let values = vec![server.resident_mib() - before];
            server.end().await;
            values
        }
    }
}

/// The median as it is shown.
pub(crate) fn shown(values: &[f64]) -> f64 {
    median(values.iter().copied()).unwrap_or(f64::NAN)
}

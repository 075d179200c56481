//! The turn of strangers who sign in.

use std::sync::{Arc, Mutex};

use keyward_domain::clock::Clock;
use keyward_domain::id::UserId;
use keyward_domain::sign_in::ports::{AttemptKind, Throttle};
use keyward_domain::sign_in::throttle::ThrottleBucket;
use keyward_domain::testing::Builder;
use tempfile::TempDir;
use tokio::task::{JoinSet, yield_now};

use crate::on_behalf_of;
use crate::sqlite::tests::scene::scene;

#[tokio::test]
async fn all_strangers_together_have_the_turns_of_one_client() {
    let directory = TempDir::new().unwrap();
    let store = scene(&directory).await;
    let make = Builder::new(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut attempts = JoinSet::new();
    let held = store.writers.acquire().await;
    for number in 0..=40 {
        let (asked, order, now) = (store.clone(), Arc::clone(&order), make.clock.now());
        let user: UserId = make.ids.next();
        let kind = if number < 40 {
            AttemptKind::StrangersSignIn
        } else {
            AttemptKind::SignIn
        };
        let address = [192, 0, 2, number].into();
        let attempt = async move {
            let bucket = ThrottleBucket::password_change(user);
            asked.count_attempt(kind, vec![bucket], now).await.unwrap();
            order.lock().unwrap().push(kind);
        };
        attempts.spawn(on_behalf_of(Some(address), attempt));
        while store.writers.waiting() < attempts.len() {
            yield_now().await;
        }
    }
    drop(held);
    attempts.join_all().await;
    let turn = order
        .lock()
        .unwrap()
        .iter()
        .position(|kind| *kind == AttemptKind::SignIn);
    assert!(turn.unwrap() < 5, "{turn:?}");
}

//! Cached keys are accepted neither after their planned end nor beyond their greatest age.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod stored;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use keyward_domain::access::{Authenticate, AuthenticateError, Credential};
use keyward_domain::access_changes::ChangeNumber;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::testing::{FixedClock, SeededRandom};
use keyward_domain::token::{Token, TokenDigest};
use keyward_domain::validity::End;
use keyward_verification_cache::{BootClock, BootTime, CachedCredentials, Replica, VerificationCache};

use crate::stored::credential;

/// A store that counts how often it is asked.
struct Counted {
    found: Mutex<Credential>,
    asked: AtomicU64,
}

impl Counted {
    fn found(&self) -> Credential {
        self.found.lock().expect("no panic").clone()
    }
}

#[async_trait]
impl Credentials for Counted {
    async fn find(&self, _: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(Some(self.found()))
    }
}

/// Seconds since the start.
struct HeldClock(AtomicU64);

impl BootClock for HeldClock {
    fn now(&self) -> BootTime {
        BootTime::since_start(Duration::from_secs(self.0.load(Ordering::SeqCst)))
    }
}

struct Scene {
    store: Arc<Counted>,
    clock: Arc<HeldClock>,
    replica: Replica,
    credentials: Arc<CachedCredentials>,
}

impl Scene {
    fn of(found: Credential) -> Self {
        let store = Arc::new(Counted {
            found: Mutex::new(found),
            asked: AtomicU64::new(0),
        });
        let clock = Arc::new(HeldClock(AtomicU64::new(1_000)));
        let cache = Arc::new(VerificationCache::new(1 << 20));
        let mut scene = Self {
            replica: Replica::new(Arc::clone(&cache)),
            credentials: Arc::new(CachedCredentials::new(
                Arc::clone(&store) as _,
                cache,
                Arc::clone(&clock) as _,
            )),
            store,
            clock,
        };
        scene.at(0);
        scene
    }

    /// This many seconds later, with a new lease.
    fn at(&mut self, seconds: u64) {
        self.clock.0.store(1_000 + seconds, Ordering::SeqCst);
        self.replica
            .registered(self.clock.now(), ChangeNumber::from_u64(0));
    }

    fn asked(&self) -> u64 {
        self.store.asked.load(Ordering::SeqCst)
    }

    async fn find_all(&self) {
        for byte in 0..=u8::MAX {
            let found = self.credentials.find(&TokenDigest::from_bytes([byte; 32])).await;
            assert_eq!(found.expect("an answer"), Some(self.store.found()));
        }
    }
}

fn moment(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

#[tokio::test]
async fn cached_key_is_refused_from_its_planned_end_on() {
    let end = Some(End::Planned(moment("2026-03-01T00:01:00Z")));
    let of_key = Credential {
        key_end: end,
        ..credential()
    };
    let of_membership = Credential {
        membership_end: end,
        ..credential()
    };
    for found in [of_key, of_membership] {
        let scene = Scene::of(found);
        let time_of_day = Arc::new(FixedClock::at("2026-03-01T00:00:00Z"));
        let authenticate =
            Authenticate::new(Arc::clone(&scene.credentials) as _, Arc::clone(&time_of_day) as _);
        let token = Token::generate(&SeededRandom::new(1));
        let caller = async || authenticate.caller(token.expose(), None).await;
        caller().await.expect("accepted");
        time_of_day.advance(TimeDelta::seconds(60) - TimeDelta::milliseconds(1));
        caller().await.expect("accepted until its end");
        time_of_day.advance(TimeDelta::milliseconds(1));
        let refused = caller().await;
        assert!(
            matches!(refused, Err(AuthenticateError::InvalidToken)),
            "{refused:?}"
        );
        assert_eq!(scene.asked(), 1, "the end came with the entry");
    }
}

#[tokio::test]
async fn cached_keys_are_read_again_at_spread_ages() {
    let greatest = VerificationCache::GREATEST_AGE.as_secs();
    let mut scene = Scene::of(credential());
    scene.find_all().await;
    assert_eq!(scene.asked(), 256);
    scene.at(greatest * 4 / 5);
    scene.find_all().await;
    assert_eq!(scene.asked(), 256, "none is old yet");
    scene.at(greatest * 9 / 10);
    scene.find_all().await;
    let halfway = scene.asked() - 256;
    assert!((100..156).contains(&halfway), "{halfway} are read again");
    scene.at(greatest);
    scene.find_all().await;
    assert_eq!(scene.asked(), 512, "each was read once more");
}

#[tokio::test]
async fn aged_key_is_no_guess_until_it_has_ended() {
    let mut scene = Scene::of(credential());
    let token = Token::generate(&SeededRandom::new(1));
    let time_of_day = Arc::new(FixedClock::at("2026-03-01T00:00:00Z"));
    let authenticate = Authenticate::new(Arc::clone(&scene.credentials) as _, time_of_day as _);
    let permits = AtomicU64::new(0);
    let store = Arc::clone(&scene.store);
    let ask = async || {
        let permit = async { permits.fetch_add(1, Ordering::SeqCst) };
        let caller = authenticate
            .caller_with_permit(token.expose(), None, permit)
            .await;
        (
            caller.is_ok(),
            store.asked.load(Ordering::SeqCst),
            permits.load(Ordering::SeqCst),
        )
    };
    assert_eq!(ask().await, (true, 1, 1), "it may be a guess");
    assert_eq!(ask().await, (true, 1, 1), "it is remembered");
    scene.at(VerificationCache::GREATEST_AGE.as_secs());
    assert_eq!(ask().await, (true, 2, 1), "it was accepted before");

    let ended = End::Come(moment("2026-02-01T00:00:00Z"));
    store.found.lock().expect("no panic").key_end = Some(ended);
    scene.at(2 * VerificationCache::GREATEST_AGE.as_secs());
    assert_eq!(ask().await, (false, 3, 1));
    assert_eq!(ask().await, (false, 4, 2), "from now on it may be a guess");
}

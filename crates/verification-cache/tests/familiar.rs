//! Which tokens are no guesses where nothing else is remembered of keys.

#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod stored;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use keyward_domain::access::Credential;
use keyward_domain::ports::{Credentials, StorageError};
use keyward_domain::token::TokenDigest;
use keyward_domain::validity::End;
use keyward_verification_cache::FamiliarCredentials;

use stored::credential;

/// A store that answers everything with this, or fails.
#[derive(Clone, Default)]
struct Answer(Arc<Mutex<Option<Credential>>>);

impl Answer {
    fn with(&self, credential: Option<Credential>) {
        *self.0.lock().expect("no panic") = credential;
    }
}

#[async_trait]
impl Credentials for Answer {
    async fn find(&self, _: &TokenDigest) -> Result<Option<Credential>, StorageError> {
        Ok(self.0.lock().expect("no panic").clone())
    }
}

fn digest(number: u8) -> TokenDigest {
    TokenDigest::from_bytes([number; 32])
}

#[tokio::test]
async fn found_key_is_familiar_until_it_has_ended() {
    let answer = Answer::default();
    let credentials = FamiliarCredentials::new(Arc::new(answer.clone()), 10);
    let find = async || credentials.find(&digest(1)).await.expect("an answer");
    assert_eq!(find().await, None);
    assert!(!credentials.is_familiar(&digest(1)), "a guess");
    answer.with(Some(credential()));
    assert_eq!(find().await, Some(credential()));
    assert!(credentials.is_familiar(&digest(1)));
    assert!(!credentials.is_familiar(&digest(2)));

    let ended = Credential {
        key_end: Some(End::Come(credential().api_key.created_at)),
        ..credential()
    };
    answer.with(Some(ended.clone()));
    assert_eq!(find().await, Some(ended), "the store is asked");
    assert!(!credentials.is_familiar(&digest(1)));
}

#[tokio::test]
async fn least_used_keys_are_forgotten_for_lack_of_room() {
    let answer = Answer::default();
    answer.with(Some(credential()));
    let credentials = FamiliarCredentials::new(Arc::new(answer), 10);
    for number in 0..100 {
        credentials.find(&digest(number)).await.expect("an answer");
    }
    let familiar = (0..100).filter(|number| credentials.is_familiar(&digest(*number)));
    let familiar = familiar.count();
    assert!((1..=10).contains(&familiar), "{familiar}");
}

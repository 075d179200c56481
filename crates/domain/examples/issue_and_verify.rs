//! Issues a key to a member, verifies its token, lets the key create another, and revokes both.
//!
//! `cargo run -p keyward-domain --example issue_and_verify`
//!
//! Everything is in memory. In a service of your own, the store, the clock and the randomness are yours.

#![expect(
    clippy::print_stdout,
    reason = "an example shows what happens on standard output"
)]

use std::error::Error;
use std::sync::Arc;

use keyward_domain::access::{Authenticate, AuthenticateError};
use keyward_domain::api_key::{KeyName, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::keys::{KeyDraft, PersonalKeys};
use keyward_domain::ports::{DescendantKeys, KeyLimits};
use keyward_domain::testing::{Builder, MemoryStore, PlainHasher};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // A store that implements the ports, and a member of an organization in it.
    let store = Arc::new(MemoryStore::new());
    let make = Builder::new(1);
    let acme = make.organization("Acme");
    let ada = make.member(&acme, "ada");
    store.put_organization(acme);
    let password = keyward_domain::sign_in::password::Password::attempt("unused here");
    store.put_user(ada.user.clone(), PlainHasher::hash_of(&password));
    store.put_membership(ada.membership.clone());

    // The use cases, over that store.
    let keys = PersonalKeys::new(store.clone(), make.sources.clone(), KeyLimits::default());
    let authenticate = Authenticate::new(store, Arc::new(make.sources));

    // Ada, signed in to a console, issues her first key. Its token is shown this once.
    let first = keys
        .issue(
            &ada.as_holder(),
            draft("deploy bot")?,
            None,
            RequestSource::default(),
        )
        .await?;
    println!("{} is {}", first.key.name, first.key.hint);

    // A request comes with that token. Its key may create more keys.
    let caller = authenticate.caller(first.token.expose(), None).await?;
    println!("it acts as {}", caller.consumer().username);
    let second = keys
        .issue(
            &caller.as_holder(),
            draft("nightly job")?,
            None,
            RequestSource::default(),
        )
        .await?;
    println!("{} was created by {:?}", second.key.name, second.key.parent());

    // Ada revokes the first key and all that came from it. From now on, neither opens anything.
    let revoked = keys
        .revoke(
            &ada.as_holder(),
            first.key.id,
            DescendantKeys::Revoke,
            KeyPrecondition::AnyVersion,
            RequestSource::default(),
        )
        .await?;
    println!("{} keys were revoked", revoked.len());
    match authenticate.caller(second.token.expose(), None).await {
        Err(AuthenticateError::InvalidToken) => println!("{} is refused", second.key.hint),
        Err(AuthenticateError::Storage(error)) => return Err(error.into()),
        Ok(_) => return Err("a revoked key was accepted".into()),
    }
    Ok(())
}

fn draft(name: &str) -> Result<KeyDraft, Box<dyn Error>> {
    Ok(KeyDraft::named(KeyName::parse(name)?))
}

//! The whole way of a key, from a person of ours to the audit log.

use std::error::Error;
use std::sync::Arc;

use keyward_domain::access::{Authenticate, AuthenticateError};
use keyward_domain::api_key::{KeyName, KeyPrecondition};
use keyward_domain::audit::RequestSource;
use keyward_domain::keys::{KeyDraft, PersonalKeys};
use keyward_domain::membership::{Membership, Role};
use keyward_domain::organization::{Organization, OrganizationName, Slug};
use keyward_domain::page::{PageRequest, PageSize};
use keyward_domain::ports::{AuditFilter, AuditLog, DescendantKeys, KeyLimits, Memberships};
use keyward_domain::sources::Sources;
use keyward_domain::user::{DisplayName, User, Username};
use keyward_domain::validity::End;
use own_store::{FileStore, SystemClock, SystemRandom};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(FileStore::open(&folder.path().join("planner.redb"))?);
    let sources = Sources::new(Arc::new(SystemClock), Arc::new(SystemRandom));

    // Our own people, who sign in to our own pages.
    let name = OrganizationName::parse("Night Ferry")?;
    let ferry = Organization {
        id: sources.next_id(),
        slug: Slug::from_name(&name),
        name,
        created_at: sources.now(),
        new_keys_manage_keys: true,
        longest_key_life: None,
    };
    let grace = User {
        id: sources.next_id(),
        username: Username::parse("grace")?,
        display_name: DisplayName::parse("Grace")?,
        created_at: sources.now(),
    };
    let membership = Membership {
        id: sources.next_id(),
        organization_id: ferry.id,
        user_id: grace.id,
        role: Role::Member,
        joined_at: sources.now(),
        end: None,
    };
    store.add_organization(ferry.clone()).await?;
    store.add_person(grace.clone()).await?;
    store.add_membership(membership.clone()).await?;

    // Keyward's use cases, over our store.
    let authenticate = Authenticate::new(store.clone(), Arc::new(sources.clone()));
    let keys = PersonalKeys::new(store.clone(), sources.clone(), KeyLimits::default());
    let source = || RequestSource {
        address: Some([192, 0, 2, 7].into()),
        request_id: None,
    };

    // Grace is signed in, and asks for a key. We show her the token this once.
    let member = store.find_live(grace.id, &ferry.slug, sources.now()).await?;
    let member = member.ok_or("Grace works for the ferry")?;
    let issued = keys
        .issue(&member.as_holder(), draft("roster export")?, None, source())
        .await?;
    println!("issued   {} ({})", issued.key.name, issued.key.hint);

    // Her script sends the token, and lets its key make another.
    let caller = authenticate.caller(issued.token.expose(), None).await?;
    println!(
        "accepted {}, who is {}",
        issued.key.hint,
        caller.consumer().username
    );
    let child = keys
        .issue(&caller.as_holder(), draft("backup of it")?, None, source())
        .await?;
    println!("issued   {} ({})", child.key.name, child.key.hint);

    // She revokes the first one with its descendants.
    let descendants = DescendantKeys::Revoke;
    let revoked = keys
        .revoke(
            &member.as_holder(),
            issued.key.id,
            descendants,
            KeyPrecondition::AnyVersion,
            source(),
        )
        .await?;
    println!("revoked  {} keys", revoked.len());
    assert_refused(&authenticate, child.token.expose()).await?;

    // A key that she did not revoke dies when she leaves.
    let last = keys
        .issue(&member.as_holder(), draft("on her way out")?, None, source())
        .await?;
    let end = End::Come(sources.now());
    store.end_membership(membership.id, end).await?;
    assert_refused(&authenticate, last.token.expose()).await?;
    println!("refused  every key of Grace, who left");

    let page = PageRequest::first(PageSize::DEFAULT);
    for event in store
        .list(Some(ferry.id), AuditFilter::default(), page)
        .await?
        .items
    {
        let at = event.at.format("%F %T");
        println!(
            "audit    {at} {:?} {} {:?}",
            event.actor,
            event.action.as_str(),
            event.subject
        );
    }
    Ok(())
}

fn draft(name: &str) -> Result<KeyDraft, Box<dyn Error>> {
    Ok(KeyDraft::named(KeyName::parse(name)?))
}

async fn assert_refused(authenticate: &Authenticate, token: &str) -> Result<(), Box<dyn Error>> {
    match authenticate.caller(token, None).await {
        Err(AuthenticateError::InvalidToken) => Ok(()),
        Err(error @ AuthenticateError::Storage(_)) => Err(error.into()),
        Ok(_) => Err("a dead key was accepted".into()),
    }
}

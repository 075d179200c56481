//! A process that is killed in the middle of its work (`kill -9`).

use std::collections::BTreeSet;

use keyward_domain::api_key::{KeyPrecondition, Origin, RevocationReason};
use keyward_domain::membership::Member;
use keyward_domain::organization::Slug;
use keyward_domain::ports::{ApiKeys, DescendantKeys, Memberships};
use keyward_domain::sign_in::ports::AccountStore;
use keyward_domain::testing::Builder;
use keyward_domain::user::Username;
use keyward_persistence::sqlite::SqliteStore;

use crate::database::now;
use crate::sqlite::child::{Running, part, say};
use crate::sqlite::fixture::{DataDirectory, add, long_timeouts, migrated_store, set_up};

/// The owner whom the parent's [`set_up`] made.
pub(crate) async fn owner_in(store: &SqliteStore) -> Member {
    let username = Username::parse("ada").expect("a username");
    let account = AccountStore::find(store, &username).await.expect("an answer");
    let user = account.expect("an account").user;
    let slug = Slug::parse("analytical-engines").expect("a slug");
    let member = store.find_live(user.id, &slug, now()).await.expect("an answer");
    member.expect("a member")
}

/// Adds keys with children and revokes every other key tree, until killed; reports each answered change.
async fn work_until_killed(store: SqliteStore, seed: u64) {
    let make = Builder::new(seed);
    let holder = owner_in(&store).await.as_holder();
    let consumer = holder.consumer().id;
    for number in 0_u64.. {
        let (parent, _) = make.new_key(&holder, "parent");
        let (mut child, _) = make.new_key(&holder, "child");
        child.key.origin = Origin::Key(parent.key.id);
        let id = parent.key.id;
        for new in [parent, child] {
            let key = new.key.id;
            add(&store, make.act_of(&holder), new).await.expect("added");
            say(format_args!("added {key}"));
        }
        if number.is_multiple_of(2) {
            let (reason, descendants) = (RevocationReason::Holder, DescendantKeys::Revoke);
            let act = make.act_of(&holder);
            let revoked = store
                .revoke(
                    consumer,
                    id,
                    reason.into(),
                    descendants,
                    KeyPrecondition::AnyVersion,
                    act,
                )
                .await;
            for key in revoked.expect("revoked") {
                say(format_args!("revoked {key}"));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn process_kill_loses_no_confirmed_and_leaves_no_partial_change() {
    const TEST: &str = "sqlite::durability::process_kill_loses_no_confirmed_and_leaves_no_partial_change";
    if let Some(part) = part() {
        let store = SqliteStore::open(long_timeouts(&part.directory)).expect("a store");
        let workers =
            (0..4).map(|worker| tokio::spawn(work_until_killed(store.clone(), part.number * 10 + worker)));
        for worker in workers.collect::<Vec<_>>() {
            worker.await.expect("no end");
        }
    }
    let directory = DataDirectory::new();
    let store = migrated_store(directory.long_timeouts()).await;
    set_up(&store, &Builder::new(1)).await;
    drop(store);

    let mut answered = BTreeSet::new();
    for round in 1..=5 {
        let mut child = Running::start(TEST, &directory.path(), round);
        // Each time at another moment.
        for _ in 0..20 + 7 * round {
            answered.insert(child.next_words().expect("the child goes on"));
        }
        answered.extend(child.kill());

        let store = migrated_store(directory.long_timeouts()).await;
        assert_eq!(
            directory.texts("SELECT integrity_check AS text FROM pragma_integrity_check"),
            ["ok"]
        );
        assert_eq!(directory.count("pragma_foreign_key_check"), 0);
        let consumer = owner_in(&store).await.as_holder().consumer().id;
        for words in &answered {
            let (what, id) = words.split_once(' ').expect("what and which");
            let found = ApiKeys::find(&store, consumer, id.parse().expect("an identifier")).await;
            let key = found
                .expect("an answer")
                .unwrap_or_else(|| panic!("{words}, and lost"));
            assert!(what == "added" || !key.is_valid(now()), "{words}, and forgotten");
        }
        let without_event = "api_keys WHERE NOT EXISTS (SELECT 1 FROM audit_events
             WHERE action = 'api_key.create' AND subject_id = api_keys.id)";
        assert_eq!(directory.count(without_event), 0);
        let without_change = "audit_events LEFT JOIN api_keys ON subject_id = api_keys.id
             WHERE action = 'api_key.create' AND api_keys.id IS NULL
                OR action = 'api_key.revoke' AND api_keys.revoked_at IS NULL";
        assert_eq!(directory.count(without_change), 0);
        let revoked = directory.count("api_keys WHERE revoked_at IS NOT NULL");
        assert_eq!(
            directory.count("audit_events WHERE action = 'api_key.revoke'"),
            revoked
        );
        let half_revoked = "api_keys child JOIN api_keys parent ON child.created_by_key_id = parent.id
             WHERE parent.revoked_at IS NOT NULL AND child.revoked_at IS NULL";
        assert_eq!(directory.count(half_revoked), 0);
    }
}

//! One attack on one server, while others revoke keys.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::attack::Attack;
use crate::figures::Figures;
use crate::installation::{Installation, PASSWORD, Prepared};
use crate::options::Database;
use crate::person::Person;
use crate::target::{StolenKey, Tally, Target};
use crate::watch::{Watch, peak_mib};
use crate::way::{Revokers, Stock, Way};
use keyward_tests::keyward::{self, Keyward, OWNER_PASSWORD};
use keyward_tests::storage::Storage;

/// How often to ask again.
const LOOK: Duration = Duration::from_millis(100);

/// How long the attack lasts before the first revocation, so that its connections and queues build up.
const HEAD_START: Duration = Duration::from_secs(3);

/// How many valid keys the attacker may have beside those, as by default.
const KEY_LIMIT: usize = 100;

/// Runs the attack for this long and returns the results.
pub(crate) async fn play(
    attack: Attack,
    database: Database,
    installation: &Installation,
    time: Duration,
) -> Figures {
    let storage = match database {
        Database::Postgres => Storage::postgres().await,
        Database::Sqlite => Storage::embedded(),
    };
    let prepared = installation.prepare(Way::keys_in(time), attack.needs_dead_keys());
    prepared.import_into(&storage).await;
    // The keys that wait to be revoked are the holder's too, and must not keep the attacker from making
    // others.
    let key_limit = (KEY_LIMIT + prepared.graces.len()).to_string();
    let places = attack.places().map(|places| places.to_string());
    let mut options = vec!["--key-limit", &key_limit];
    options.extend(places.iter().flat_map(|places| ["--max-connections", places]));
    let keyward = Arc::new(Keyward::serve(storage, &options).await);
    let server: SocketAddr = keyward.authority().parse().expect("an address");
    let watch = attack
        .places()
        .map(|places| (places, Watch::begin(server.port())));
    let revokers = Arc::new(revokers(&keyward, installation, &prepared));
    for person in [
        &revokers.bob,
        &revokers.bob_elsewhere,
        &revokers.grace,
        &revokers.ada,
    ] {
        person.sign_in().await.expect("a sign-in before the attack");
    }
    let target = Arc::new(Target {
        server,
        stolen: installation.stolen.clone(),
        youngest: Mutex::new(installation.stolen_for_chain.clone()),
        dead: prepared.dead.clone(),
        usernames: ["bob", "grace", "ada"].map(str::to_owned).to_vec(),
        tally: Tally::default(),
    });
    // Attackers have a thread of their own, so that they do not hold up those who are measured more than
    // other programs do.
    let attackers = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    attack.begin(attackers.handle(), &target);
    sleep(HEAD_START).await;

    let (mut figures, revoked) = revoke_meanwhile(&revokers, time).await;
    // Still under attack.
    let (_, ended) = revokers.go(Way::StolenKeys).await;
    if ended.is_ok() {
        figures.wrong.extend(still_working(&keyward, &target).await);
    }
    figures.add(Way::StolenKeys, ended);

    attackers.shutdown_background();
    figures.wrong.extend(not_revoked(&revokers, &revoked).await);
    figures.wrong.extend(target.tally.shortcomings(attack));
    if let Some((places, watch)) = watch {
        let most = watch.most_connections();
        let vacant = format!("at most {most} of {places} connections were open at once");
        figures.wrong.extend((most < places).then_some(vacant));
    }
    figures.peak_mib = peak_mib(keyward.process_id());
    figures.attacker = target.tally.to_string();
    figures
}

fn revokers(keyward: &Arc<Keyward>, installation: &Installation, prepared: &Prepared) -> Revokers {
    let person = |last, username, password, key: &StolenKey| {
        let address = Ipv4Addr::new(127, 0, 0, last);
        Person::new(keyward.base_url(), address, (username, password), &key.token)
    };
    Revokers {
        bob: person(2, "bob", PASSWORD, &installation.bobs),
        bob_elsewhere: person(5, "bob", PASSWORD, &installation.bobs),
        grace: person(3, "grace", PASSWORD, &installation.graces),
        // She has no key, and needs none.
        ada: person(4, "ada", OWNER_PASSWORD, &installation.graces),
        keyward: Arc::clone(keyward),
        bobs_keys: Stock::of(&prepared.bobs),
        graces_keys: Stock::of(&prepared.graces),
        stolen: [installation.stolen.clone(), installation.stolen_for_chain.clone()],
    }
}

/// All revokers revoke at a steady rate, however long the answers take, so that late answers hide no others.
/// Returns the keys whose revocations were answered, too.
async fn revoke_meanwhile(revokers: &Arc<Revokers>, time: Duration) -> (Figures, Vec<(Way, String)>) {
    let end = Instant::now() + time;
    let mut going = JoinSet::new();
    for way in Way::STEADY {
        let revokers = Arc::clone(revokers);
        going.spawn(async move {
            let mut asked = JoinSet::new();
            let mut ticks = interval(way.period());
            ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
            while ticks.tick().await < end {
                let revokers = Arc::clone(&revokers);
                asked.spawn(async move { revokers.go(way).await });
            }
            (way, asked.join_all().await)
        });
    }
    let mut figures = Figures::default();
    let mut revoked = Vec::new();
    for (way, answers) in going.join_all().await {
        for (id, answered) in answers {
            if let (Some(id), Ok(_)) = (id, &answered) {
                revoked.push((way, id));
            }
            figures.add(way, answered);
        }
    }
    (figures, revoked)
}

/// The stolen keys that are accepted though their revocation was answered.
async fn still_working(keyward: &Keyward, target: &Target) -> Vec<String> {
    let mut wrong = Vec::new();
    for key in [target.stolen.clone(), target.youngest()] {
        let attacker = Person::new(keyward.base_url(), Ipv4Addr::LOCALHOST, ("", ""), &key.token);
        match attacker.is_revoked("current").await {
            Err(refused) if refused.contains("401") => {}
            answered => wrong.push(format!("stolen key {} was not refused: {answered:?}", key.id)),
        }
    }
    wrong
}

/// The keys that are valid although their revocation was answered. The attack is over, and the server has a
/// while to finish its remaining requests.
async fn not_revoked(revokers: &Revokers, revoked: &[(Way, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    let deadline = Instant::now() + keyward::TIMEOUT;
    for (way, id) in revoked {
        let mut answered = revokers.holder(*way).is_revoked(id).await;
        while answered.is_err() && Instant::now() < deadline {
            sleep(LOOK).await;
            answered = revokers.holder(*way).is_revoked(id).await;
        }
        if answered != Ok(true) {
            wrong.push(format!("{} of {id} was answered, then: {answered:?}", way.name()));
        }
    }
    wrong
}

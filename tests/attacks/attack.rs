//! The attacks, one file each. Each runs until its runtime ends.

mod chain_of_keys;
mod dead_keys;
mod edits;
mod half_sent_forms;
mod unknown_ids;
mod unknown_tokens;
mod unread_answers;
mod wrong_passwords;

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use tokio::runtime::Handle;

use crate::target::Target;
use crate::wire::Wire;

/// The address of an attacker who has only one.
const ONE_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

/// Connections of an attacker who asks as fast as possible.
const CONNECTIONS: usize = 64;

/// How long to wait before connecting again to a server that refuses.
const RECONNECT: Duration = Duration::from_millis(10);

/// An attack that tries to keep others from revoking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attack {
    /// Nothing, to compare with.
    None,
    /// A key makes a key that revokes it, and so on, while others ask for the end of the whole chain.
    ChainOfKeys,
    /// Tens of thousands of revoked keys from long before, whose ends are asked for again and again.
    DeadKeys,
    /// A key is renamed as fast as possible.
    Edits,
    /// Keys that do not exist are revoked with their descendants.
    UnknownIds,
    /// Passwords are guessed from many addresses.
    WrongPasswords,
    /// Forms are begun without a session and not finished.
    HalfSentForms,
    /// Long answers are asked for and not read.
    UnreadAnswers,
    /// More connections are held than the server takes.
    Saturation,
    /// Tokens are made up, with right checksums.
    UnknownTokens,
    /// All of these at once.
    Everything,
}

impl Attack {
    /// Whether the holder's dead keys must be in the database before.
    pub(crate) const fn needs_dead_keys(self) -> bool {
        matches!(self, Self::DeadKeys | Self::Everything)
    }

    /// The statuses of the answers to the attackers; any other shows an error of the attack.
    pub(crate) const fn expected_answers(self) -> &'static [u16] {
        match self {
            Self::None | Self::HalfSentForms | Self::UnreadAnswers | Self::Saturation => &[],
            // For creations, revocations, and keys that do not exist.
            Self::ChainOfKeys => &[201, 204, 404],
            Self::DeadKeys => &[204, 404],
            // As many as a key may make, then none.
            Self::Edits => &[200, 429],
            Self::UnknownIds => &[404],
            Self::WrongPasswords => &[422],
            // Until the address is beyond its limit, then once a second.
            Self::UnknownTokens => &[401, 429],
            Self::Everything => &[200, 204, 401, 404],
        }
    }

    /// Whether it is connections that the attackers hold, rather than answers that they ask for.
    pub(crate) const fn holds_connections(self) -> bool {
        matches!(
            self,
            Self::HalfSentForms | Self::UnreadAnswers | Self::Saturation | Self::Everything
        )
    }

    /// How many connections the server may hold, if the attack is to take them all.
    pub(crate) const fn places(self) -> Option<usize> {
        match self {
            // A third of the connections that the two attacks hold.
            Self::Saturation => Some(1_000),
            _ => None,
        }
    }

    /// Begins; it ends with the runtime.
    pub(crate) fn begin(self, runtime: &Handle, target: &Arc<Target>) {
        match self {
            Self::None => {}
            Self::ChainOfKeys => chain_of_keys::begin(runtime, target),
            Self::DeadKeys => dead_keys::begin(runtime, target),
            Self::Edits => edits::begin(runtime, target),
            Self::UnknownIds => unknown_ids::begin(runtime, target),
            Self::WrongPasswords => wrong_passwords::begin(runtime, target),
            Self::HalfSentForms => half_sent_forms::begin(runtime, target),
            Self::UnreadAnswers => unread_answers::begin(runtime, target),
            Self::Saturation => {
                half_sent_forms::begin(runtime, target);
                unread_answers::begin(runtime, target);
            }
            Self::UnknownTokens => unknown_tokens::begin(runtime, target),
            Self::Everything => {
                let combined = [Self::Saturation, Self::Everything];
                let parts = Self::value_variants()
                    .iter()
                    .filter(|part| !combined.contains(part));
                parts.for_each(|part| part.begin(runtime, target));
            }
        }
    }
}

/// Sends the requests of `next`, one after another on each of many connections, until the runtime ends.
fn ask_for_ever<F>(runtime: &Handle, target: &Arc<Target>, next: F)
where
    F: Fn(&Target, usize) -> String + Copy + Send + Sync + 'static,
{
    for connection in 0..CONNECTIONS {
        let target = Arc::clone(target);
        runtime.spawn(async move {
            let mut number = connection;
            loop {
                let Err(error) = ask(&target, &mut number, next).await;
                target.tally.broke(error);
                tokio::time::sleep(RECONNECT).await;
            }
        });
    }
}

async fn ask<F>(target: &Target, number: &mut usize, next: F) -> io::Result<Infallible>
where
    F: Fn(&Target, usize) -> String,
{
    let mut wire = Wire::open(target.server, ONE_ADDRESS).await?;
    loop {
        *number += CONNECTIONS;
        let answer = wire.ask(&next(target, *number)).await?;
        target.tally.answered(answer.status);
    }
}

/// An identifier like those of keys (RFC 9562, version 7), another one for each number.
fn made_up_id(number: usize) -> String {
    let low = number & 0xffff_ffff_ffff;
    format!("01900000-0000-7000-8000-{low:012x}")
}

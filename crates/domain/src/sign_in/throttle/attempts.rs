//! The buckets of attempts at passwords and at invitations, and of changes by owners, and how many there may
//! be.

use std::net::IpAddr;

use chrono::TimeDelta;

use super::networks::Networks;
use super::{CountedAccount, ThrottleBucket};
use crate::id::{InvitationId, OrganizationId, UserId};
use crate::rate::Rate;
use crate::sign_in::remembered_browser::RememberedBrowser;

// What an attacker gets against one account, by arithmetic: from one IPv4 address or one IPv6 /64, 10 guesses
// at once and 1,440 a day; from one IPv6 /48, 30 and 4,320 a day; from however many, 2,000 and 43,200 a day:
// 45,200 on the first day, and 15.8 million in a year. A browser in which a user signed in with the account's
// present password has more guesses at it: 10 and 1,440 a day from one browser, 100 and 4,320 a day from all
// of them. A password has 15 characters at least, and no listed one is accepted: three words that were drawn
// from 7,776 are one of 4.7 × 10^11 (one year of guessing finds one of 30,000 such passwords), fifteen random
// letters one of 1.7 × 10^21. Against all accounts together, one address or /64 gets 200 and 8,640 a day, one
// /48 500 and 17,280 a day.
//
// To keep an account's own bucket full, and so its holder's new browsers out, takes 30 addresses or 10
// networks of /48 that guess all the time; or one address, if the holder's new browser shares it. Browsers in
// which the holder signed in with this password before are never concerned.

/// Slow enough that guessing is hopeless, but fast enough for a user who tries their old passwords.
const PER_PERSON: Rate = Rate::new(10, TimeDelta::minutes(1));
/// The limit of one IPv6 site against one account.
const PER_ACCOUNT_AND_SITE: Rate = Rate::new(30, TimeDelta::seconds(20));
/// The limit of all addresses together against one account.
const PER_ACCOUNT: Rate = Rate::new(2_000, TimeDelta::seconds(2));
/// For all browsers in which a user signed in to the account, which takes its password.
const PER_ACCOUNT_REMEMBERED: Rate = Rate::new(100, TimeDelta::seconds(20));
/// Offices share an address. The burst is larger than the number of concurrent checks, so that no one is
/// refused because of others whose right passwords are being checked.
const PER_ADDRESS: Rate = Rate::new(200, TimeDelta::seconds(10));
/// An IPv6 /48 is what a provider gives to one site: it has 65,536 networks of /64.
const PER_SITE: Rate = Rate::new(500, TimeDelta::seconds(5));

/// More than any person needs, and few events in a year.
const SIGN_INS: Rate = Rate::new(60, TimeDelta::minutes(1));

/// More than a person does by hand in ten minutes.
const CHANGES_BY_OWNER: Rate = Rate::new(600, TimeDelta::seconds(1));
/// 172,800 a day, each with one event, and at most another one for its undoing.
const CHANGES_IN_ORGANIZATION: Rate = Rate::new(1_200, TimeDelta::milliseconds(500));
/// Each may be followed by an event for every key of the organization: 144 a day.
const LONGEST_LIVES: Rate = Rate::new(10, TimeDelta::minutes(10));

const PER_INVITATION: Rate = Rate::new(10, TimeDelta::days(1));

impl ThrottleBucket {
    /// The buckets of an attempt to sign in from a browser in which the account's user did not sign in
    /// before, in the order in which they MUST be counted: so no two attempts wait for each other, and a
    /// refused address creates no buckets of accounts.
    #[must_use]
    pub fn of_attempt(account: CountedAccount, address: Option<IpAddr>) -> Vec<Self> {
        let networks = address.map(Networks::of);
        let mut buckets = networks
            .as_ref()
            .map(|networks| Self::of_networks("site", "address", networks))
            .unwrap_or_default();
        if let Some(networks) = networks {
            let from = |network: &[u8]| [account.0.as_slice(), network].concat();
            buckets.extend(
                networks
                    .site
                    .map(|site| Self::of("account and site", &from(&site), PER_ACCOUNT_AND_SITE)),
            );
            buckets.push(Self::of("account and address", &from(&networks.own), PER_PERSON));
        }
        buckets.push(Self::of("account", &account.0, PER_ACCOUNT));
        buckets
    }

    /// The buckets of a client's address: its own, in which an IPv6 client is its /64 network, and that of
    /// its /48.
    #[must_use]
    pub fn of_address(address: IpAddr) -> Vec<Self> {
        Self::of_networks("site", "address", &Networks::of(address))
    }

    /// The buckets of the usernames that newcomers at an address tried and that are taken. Guesses at
    /// passwords count elsewhere: only clients with an invitation get here.
    #[must_use]
    pub fn of_newcomers_address(address: IpAddr) -> Vec<Self> {
        Self::of_networks("newcomers' site", "newcomers' address", &Networks::of(address))
    }

    fn of_networks(site: &str, own: &str, networks: &Networks) -> Vec<Self> {
        let site = networks.site.map(|network| Self::of(site, &network, PER_SITE));
        let own = Self::of(own, &networks.own, PER_ADDRESS);
        site.into_iter().chain([own]).collect()
    }

    /// The buckets of an attempt from a browser in which its user signed in before: that browser's, and the
    /// one of all such browsers, because a thief of the password may have made many cookies. Strangers cannot
    /// fill them.
    #[must_use]
    pub fn of_remembered(account: CountedAccount, browser: RememberedBrowser) -> Vec<Self> {
        let own = [account.0.as_slice(), &browser.0].concat();
        vec![
            Self::of("browser", &own, PER_PERSON),
            Self::of("browsers", &account.0, PER_ACCOUNT_REMEMBERED),
        ]
    }

    /// The bucket of a user's successful sign-ins, which are not given back: each starts a session and writes
    /// an audit event.
    #[must_use]
    pub fn sign_ins_of(user: UserId) -> Self {
        Self::of("sign-ins", user.as_uuid().as_bytes(), SIGN_INS)
    }

    /// The bucket of a user who changes their password. Only clients with the user's session can fill it:
    /// attempts of strangers to sign in fill [others](Self::of_attempt).
    #[must_use]
    pub fn password_change(user: UserId) -> Self {
        Self::of("password", user.as_uuid().as_bytes(), PER_PERSON)
    }

    /// The bucket of a user's changes to the organizations that they own, which are never given back.
    #[must_use]
    pub fn changes_by_owner(user: UserId) -> Self {
        Self::of("changes by owner", user.as_uuid().as_bytes(), CHANGES_BY_OWNER)
    }

    /// The bucket of the changes of all owners of an organization, likewise.
    #[must_use]
    pub fn changes_in(organization: OrganizationId) -> Self {
        let organization = organization.as_uuid();
        Self::of("changes in", organization.as_bytes(), CHANGES_IN_ORGANIZATION)
    }

    /// The bucket of the changes of an organization's longest life of keys, likewise.
    #[must_use]
    pub fn longest_lives_of(organization: OrganizationId) -> Self {
        Self::of("longest lives", organization.as_uuid().as_bytes(), LONGEST_LIVES)
    }

    /// The bucket of the usernames that were tried with an invitation and are taken. An honest newcomer meets
    /// few; an attacker learns 10 names at once and one more each day until the invitation expires after 7
    /// days.
    #[must_use]
    pub fn invitation(invitation: InvitationId) -> Self {
        Self::of("invitation", invitation.as_uuid().as_bytes(), PER_INVITATION)
    }
}

//! Keys as shown to owners.

use std::ops::Deref;

use crate::administration::member_overview::MemberProfile;
use crate::api_key::{ApiKey, LastUse};
use crate::shortened_address::ShortenedAddress;

/// A key as owners may see it, with its user and membership: an [`ApiKey`] without the exact address of its
/// last use. [`HeldKey::new`] has to remove any other field that owners must not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldKey {
    /// Without its last use.
    key: ApiKey,
    /// Its last use, if it was ever used, and roughly from where.
    pub last_use: Option<LastUse<ShortenedAddress>>,
    /// The user and membership, as stored when the key was read.
    pub holder: MemberProfile,
}

impl HeldKey {
    /// Omits fields that owners must not see, and shortens the IP address.
    #[must_use]
    pub fn new(mut key: ApiKey, holder: MemberProfile) -> Self {
        let last_use = key.last_use.take().map(|last| LastUse {
            at: last.at,
            from: last.from.map(ShortenedAddress::of),
        });
        Self {
            key,
            last_use,
            holder,
        }
    }
}

impl Deref for HeldKey {
    type Target = ApiKey;

    fn deref(&self) -> &ApiKey {
        &self.key
    }
}

/// For stores in tests that misread a field.
#[cfg(feature = "testing")]
impl std::ops::DerefMut for HeldKey {
    fn deref_mut(&mut self) -> &mut ApiKey {
        &mut self.key
    }
}

/// How much of a key tree is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyTreeSize {
    /// The most ancestors of the key that was asked for; fewer than the keys.
    pub ancestors: u16,
    /// The most keys in all.
    pub keys: u16,
}

impl KeyTreeSize {
    /// A size that fits on a page.
    pub const DEFAULT: Self = Self {
        ancestors: 100,
        keys: 500,
    };
}

/// A key with its ancestors and their descendants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyTree {
    /// The keys of the tree, by rising identifier.
    pub keys: Vec<HeldKey>,
    /// Whether keys were left out because of the size.
    pub has_more: bool,
}

//! What they let their programs do.

use std::num::NonZeroU32;

use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::{
    KeyDescription, KeyEdit, KeyName, KeyPrecondition, LastUse, RevocationNote, RevocationReason,
};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::holder::Holder;
use keyward_domain::id::OrganizationId;
use keyward_domain::keys::{IssuedKey, KeyDraft};
use keyward_domain::ports::{DescendantKeys, KeyLimits, KeyUse, LastUses};

use super::Telling;
use crate::demo::fill_error::FillError;
use crate::demo::happening::{By, Key, numbered};
use crate::demo::last_uses::LastUseOf;

impl Telling<'_> {
    pub(in crate::demo) async fn issue(&self, by: By, key: &Key) -> Result<IssuedKey, FillError> {
        let holder = self.holder(by).await?;
        let draft = KeyDraft {
            description: KeyDescription::parse(key.description)?,
            can_manage_keys: Some(key.can_manage_keys),
            ..KeyDraft::named(KeyName::parse(key.name)?)
        };
        self.issue_to(&holder, by, draft).await
    }

    async fn issue_to(&self, holder: &Holder, by: By, draft: KeyDraft) -> Result<IssuedKey, FillError> {
        let keys = self.past.use_cases.keys(KeyLimits::default());
        Ok(keys.issue(holder, draft, None, self.source(by.name())).await?)
    }

    pub(super) async fn create(&mut self, by: By, key: &Key) -> Result<(), FillError> {
        let issued = self.issue(by, key).await?;
        self.keys.insert(key.name.to_owned(), issued);
        Ok(())
    }

    pub(super) async fn create_many(&mut self, by: By, word: &str, count: u32) -> Result<(), FillError> {
        let holder = self.holder(by).await?;
        for number in 1..=count {
            let name = numbered(word, number);
            let draft = KeyDraft {
                can_manage_keys: Some(false),
                ..KeyDraft::named(KeyName::parse(&name)?)
            };
            let issued = self.issue_to(&holder, by, draft).await?;
            self.keys.insert(name, issued);
        }
        Ok(())
    }

    pub(super) async fn describe(&self, by: By, name: &str, description: &str) -> Result<(), FillError> {
        let edit = KeyEdit {
            description: Some(KeyDescription::parse(description)?),
            ..KeyEdit::default()
        };
        let (holder, id) = (self.holder(by).await?, self.key(name)?.key.id);
        let keys = self.past.use_cases.keys(KeyLimits::default());
        keys.edit(
            &holder,
            id,
            edit,
            KeyPrecondition::AnyVersion,
            self.source(by.name()),
        )
        .await?;
        Ok(())
    }

    pub(super) async fn revoke(
        &self,
        by: By,
        name: &str,
        descendants: DescendantKeys,
    ) -> Result<(), FillError> {
        let (holder, id) = (self.holder(by).await?, self.key(name)?.key.id);
        let keys = self.past.use_cases.keys(KeyLimits::default());
        keys.revoke(
            &holder,
            id,
            descendants,
            KeyPrecondition::AnyVersion,
            self.source(by.name()),
        )
        .await?;
        Ok(())
    }

    pub(super) async fn revoke_as_owner(&self, owner: &str, name: &str, note: &str) -> Result<(), FillError> {
        let authority = self.authority_of(owner).await?;
        self.revoke_as(&authority, name, note, self.source(owner)).await
    }

    pub(super) async fn revoke_as_administrator(&self, name: &str, note: &str) -> Result<(), FillError> {
        let authority = Authority::of_administrator(self.organization_id().await?);
        self.revoke_as(&authority, name, note, RequestSource::default())
            .await
    }

    async fn revoke_as(
        &self,
        authority: &Authority,
        name: &str,
        note: &str,
        source: RequestSource,
    ) -> Result<(), FillError> {
        let keys = self.past.use_cases.organization_keys();
        let (selection, note) = (self.selection(name)?, RevocationNote::parse(note)?);
        keys.revoke(authority, selection, Some(note), source, None)
            .await?;
        Ok(())
    }

    /// No use case finds leaks, but storage knows the reason.
    pub(super) async fn revoke_for_leak(&self, name: &str, note: &str) -> Result<(), FillError> {
        let organization = self.organization_id().await?;
        let sources = &self.past.sources;
        let act = sources.act(Actor::Administrator, RequestSource::default());
        OrganizationKeyStore::revoke(
            &*self.past.store,
            organization,
            self.selection(name)?,
            NonZeroU32::MIN,
            RevocationReason::Leak,
            Some(RevocationNote::parse(note)?),
            act.within(organization),
        )
        .await?;
        Ok(())
    }

    pub(super) async fn use_dead_key(&self, name: &str) -> Result<(), FillError> {
        let use_cases = &self.past.use_cases;
        let token = self.key(name)?.token.expose();
        match use_cases
            .authenticate()
            .caller(token, self.source(name).address)
            .await
        {
            Ok(_) => return Err(FillError::Works(name.to_owned())),
            Err(AuthenticateError::InvalidToken) => {}
            Err(error) => return Err(error.into()),
        }
        use_cases.refused_use_reports().write().await?;
        Ok(())
    }

    /// Writes when keys were used last.
    pub(in crate::demo) async fn note_uses(
        &self,
        uses: impl Iterator<Item = LastUseOf>,
    ) -> Result<(), FillError> {
        let uses = uses.map(|LastUseOf { key, ago, from }| {
            let at = self.past.now - ago;
            let last = LastUse { at, from: Some(from) };
            Ok(KeyUse {
                key: self.key(&key)?.key.id,
                last,
            })
        });
        let uses = uses.collect::<Result<_, FillError>>()?;
        Ok(LastUses::record(&*self.past.store, uses).await?)
    }

    fn selection(&self, name: &str) -> Result<KeySelection, FillError> {
        Ok(KeySelection::Keys {
            ids: vec![self.key(name)?.key.id],
            descendants: DescendantKeys::Keep,
        })
    }

    fn key(&self, name: &str) -> Result<&IssuedKey, FillError> {
        let key = self.keys.get(name);
        key.ok_or_else(|| FillError::Missing(name.to_owned()))
    }

    async fn organization_id(&self) -> Result<OrganizationId, FillError> {
        Ok(self.authority().await?.organization_id())
    }

    /// Who acts: a person as the console knows them, or a key as the API does.
    async fn holder(&self, by: By) -> Result<Holder, FillError> {
        match by {
            By::Person(username) => Ok(self.member(username).await?.as_holder()),
            By::Key(name) => {
                let token = self.key(name)?.token.expose();
                let authenticate = self.past.use_cases.authenticate();
                let caller = authenticate.caller(token, self.source(name).address).await?;
                Ok(caller.as_holder())
            }
        }
    }
}

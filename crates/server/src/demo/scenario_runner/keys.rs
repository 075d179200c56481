//! Steps that create or change keys.

use std::num::NonZeroU32;

use chrono::TimeDelta;
use keyward_domain::access::AuthenticateError;
use keyward_domain::administration::Authority;
use keyward_domain::administration::ports::{KeySelection, OrganizationKeyStore};
use keyward_domain::api_key::{
    Expiry, KeyEdit, KeyName, KeyPrecondition, LastUse, OldKeyEnd, RevocationNote, RevocationReason,
};
use keyward_domain::audit::{Actor, RequestSource};
use keyward_domain::holder::Holder;
use keyward_domain::id::ApiKeyId;
use keyward_domain::keys::{IssuedKey, KeyDraft, PersonalKeys, RotationDraft};
use keyward_domain::planned_ends::PlannedEnds;
use keyward_domain::planned_ends::ports::PlannedEndStore;
use keyward_domain::ports::{DescendantKeys, KeyLimits, KeyUse, LastUses};

use super::{ScenarioRunner, missing};
use crate::demo::past::StepError;
use crate::demo::scenario::{Ago, numbered};

impl ScenarioRunner<'_> {
    pub(in crate::demo) async fn issue(&self, by: &str, draft: KeyDraft) -> Result<IssuedKey, StepError> {
        let holder = self.holder(by).await?;
        Ok(self
            .personal_keys()
            .issue(&holder, draft, None, self.source(by))
            .await?)
    }

    pub(super) async fn create_keys(&mut self, by: &str, name: &str, count: u32) -> Result<(), StepError> {
        for name in (1..=count).map(|number| numbered(name, number)) {
            let draft = KeyDraft {
                can_manage_keys: Some(false),
                ..KeyDraft::named(KeyName::parse(&name)?)
            };
            let issued = self.issue(by, draft).await?;
            self.keys.insert(name, issued);
        }
        Ok(())
    }

    pub(super) fn expiry(&self, after_days: u16) -> Result<Expiry, StepError> {
        let now = self.past.sources.now();
        Ok(Expiry::new(now + TimeDelta::days(after_days.into()), now)?)
    }

    /// As [`PlannedEnds`] does, which doubts a clock of the past.
    pub(super) async fn record_planned_ends(&self) -> Result<(), StepError> {
        let act = self.past.sources.act(Actor::System, RequestSource::default());
        let store: &dyn PlannedEndStore = &*self.past.store;
        store
            .record_ends_of_keys(PlannedEnds::BATCH_SIZE, act.clone())
            .await?;
        store
            .record_ends_of_memberships(PlannedEnds::BATCH_SIZE, act)
            .await?;
        Ok(())
    }

    pub(super) async fn edit_key(&self, by: &str, name: &str, edit: KeyEdit) -> Result<(), StepError> {
        let (holder, id, any) = (
            self.holder(by).await?,
            self.key_id(name)?,
            KeyPrecondition::AnyVersion,
        );
        self.personal_keys()
            .edit(&holder, id, edit, any, self.source(by))
            .await?;
        Ok(())
    }

    pub(super) async fn rotate_key(&mut self, by: &str, name: &str) -> Result<(), StepError> {
        let (holder, id) = (self.holder(by).await?, self.key_id(name)?);
        let draft = RotationDraft {
            old_key_ends: OldKeyEnd::AtOnce,
            expiry: None,
        };
        let issued = self
            .personal_keys()
            .rotate(&holder, id, draft, None, self.source(by))
            .await?;
        self.keys.insert(name.to_owned(), issued);
        Ok(())
    }

    pub(super) async fn revoke_key(
        &self,
        by: &str,
        name: &str,
        descendants: DescendantKeys,
    ) -> Result<(), StepError> {
        let (holder, id, any) = (
            self.holder(by).await?,
            self.key_id(name)?,
            KeyPrecondition::AnyVersion,
        );
        self.personal_keys()
            .revoke(&holder, id, descendants, any, self.source(by))
            .await?;
        Ok(())
    }

    pub(super) async fn revoke_for_others(
        &self,
        authority: &Authority,
        name: &str,
        note: &str,
        source: RequestSource,
    ) -> Result<(), StepError> {
        let keys = self.past.use_cases.organization_keys();
        let (selection, note) = (self.selection(name)?, RevocationNote::parse(note)?);
        keys.revoke(authority, selection, Some(note), source, None)
            .await?;
        Ok(())
    }

    /// No use case finds leaks, but storage knows the reason.
    pub(super) async fn revoke_leaked_key(&self, name: &str, note: &str) -> Result<(), StepError> {
        let organization = self.authority().await?.organization_id();
        let act = self
            .past
            .sources
            .act(Actor::Administrator, RequestSource::default());
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

    pub(super) async fn use_revoked_key(&self, name: &str) -> Result<(), StepError> {
        match self.holder(name).await {
            Err(error) if matches!(error.downcast_ref(), Some(AuthenticateError::InvalidToken)) => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(format!("{name} still works").into()),
        }
        self.past.use_cases.refused_use_reports().write().await?;
        Ok(())
    }

    pub(super) async fn record_last_uses(&self) -> Result<(), StepError> {
        let uses = self.scenario.last_uses.iter().map(|(name, Ago(ago), from)| {
            let last = LastUse {
                at: self.past.now - *ago,
                from: Some(*from),
            };
            let key = self.key_id(name)?;
            Ok(KeyUse { key, last })
        });
        let uses = uses.collect::<Result<_, StepError>>()?;
        Ok(LastUses::record(&*self.past.store, uses, self.past.now).await?)
    }

    fn personal_keys(&self) -> PersonalKeys {
        self.past.use_cases.keys(KeyLimits::default())
    }

    fn selection(&self, name: &str) -> Result<KeySelection, StepError> {
        Ok(KeySelection::Keys {
            ids: vec![self.key_id(name)?],
            descendants: DescendantKeys::Keep,
        })
    }

    fn key_id(&self, name: &str) -> Result<ApiKeyId, StepError> {
        Ok(self.keys.get(name).ok_or_else(|| missing(name))?.key.id)
    }

    /// A key as the API knows it, else a person as the console does.
    async fn holder(&self, by: &str) -> Result<Holder, StepError> {
        let Some(key) = self.keys.get(by) else {
            return Ok(self.member(by).await?.as_holder());
        };
        let authenticate = self.past.use_cases.authenticate();
        let caller = authenticate
            .caller(key.token.expose(), self.source(by).address)
            .await?;
        Ok(caller.as_holder())
    }
}

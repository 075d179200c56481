//! What they work on.

use keyward_domain::id::ProjectId;
use keyward_domain::project::ProjectName;

use super::Telling;
use crate::demo::fill_error::FillError;

impl Telling<'_> {
    pub(super) async fn start(
        &mut self,
        name: &'static str,
        members: &[&'static str],
    ) -> Result<(), FillError> {
        let authority = self.authority().await?;
        let project = self.past.use_cases.projects();
        let project = project
            .create(&authority, ProjectName::parse(name)?, self.owners_source())
            .await?;
        self.projects.insert(name, project.id);
        for username in members {
            self.enter(name, username).await?;
        }
        Ok(())
    }

    pub(super) async fn rename(&mut self, name: &str, new: &'static str) -> Result<(), FillError> {
        let (authority, project) = (self.authority().await?, self.project(name)?);
        let projects = self.past.use_cases.projects();
        projects
            .rename(
                &authority,
                project,
                ProjectName::parse(new)?,
                self.owners_source(),
            )
            .await?;
        self.projects.insert(new, project);
        Ok(())
    }

    pub(super) async fn enter(&self, name: &str, username: &str) -> Result<(), FillError> {
        let (authority, member) = (self.authority().await?, self.member(username).await?);
        let (projects, project) = (self.past.use_cases.projects(), self.project(name)?);
        projects
            .add_member(&authority, project, member.membership.id, self.owners_source())
            .await?;
        Ok(())
    }

    pub(super) async fn leave_project(&self, name: &str, username: &str) -> Result<(), FillError> {
        let (authority, member) = (self.authority().await?, self.member(username).await?);
        let (projects, project) = (self.past.use_cases.projects(), self.project(name)?);
        projects
            .remove_member(&authority, project, member.membership.id, self.owners_source())
            .await?;
        Ok(())
    }

    pub(super) async fn archive(&self, name: &str) -> Result<(), FillError> {
        let (authority, project) = (self.authority().await?, self.project(name)?);
        let projects = self.past.use_cases.projects();
        Ok(projects
            .archive(&authority, project, self.owners_source())
            .await?)
    }

    pub(super) async fn restore(&self, name: &str) -> Result<(), FillError> {
        let (authority, project) = (self.authority().await?, self.project(name)?);
        let projects = self.past.use_cases.projects();
        Ok(projects
            .restore(&authority, project, self.owners_source())
            .await?)
    }

    fn project(&self, name: &str) -> Result<ProjectId, FillError> {
        let project = self.projects.get(name).copied();
        project.ok_or_else(|| FillError::Missing(name.to_owned()))
    }
}

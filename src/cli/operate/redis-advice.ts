interface Advice {
  readonly fits: RegExp
  readonly hint: string
}

/** The order matters, because a message about a failed connection may contain a more specific reason. */
const ADVICE: readonly Advice[] = [
  {
    fits: /NOAUTH|WRONGPASS|AUTH.* called without any password/,
    hint: 'give it the user and the password of Redis: COUNTERSIGN_STORE_USERNAME and COUNTERSIGN_STORE_PASSWORD_FILE',
  },
  {
    fits: /^the replicas did not confirm/,
    hint: 'start the replicas, or let fewer confirm (COUNTERSIGN_STORE_REPLICAS); `countersign doctor` reports how many are connected',
  },
  {
    fits: /\bOOM\b/,
    hint: 'give Redis more memory (maxmemory), or remove data of other programs; no answered commit is lost',
  },
  {
    fits: /\bNOREPLICAS\b/,
    hint: 'start the replicas, or ask for fewer (min-replicas-to-write of Redis)',
  },
  {
    fits: /\bREADONLY\b/,
    hint: 'name the primary in --store, or make this server the primary',
  },
  {
    fits: /\bMISCONF\b/,
    hint: 'free space on the disk of Redis, and check its log: it cannot save',
  },
  {
    fits: /\bNOPERM\b/,
    hint: 'give the user of Redis the permissions that deploy/redis/users.acl lists for `countersign`',
  },
  {
    fits: /^no connection.*(?:certificate|altname|SSL|TLS|CERT_)/s,
    hint: 'use rediss:// for a server with TLS, and redis:// for a server without; name your own authority in NODE_EXTRA_CA_CERTS. `countersign doctor` checks the certificates',
  },
  {
    fits: /^no connection.*LOADING/s,
    hint: 'Redis is still loading its data: wait for it, then start again',
  },
  {
    fits: /^(?:no connection.*no answer within|the connection was lost)/s,
    hint: 'check the server that listens there: is it Redis, and does it use TLS (rediss://) or not (redis://)?',
  },
  {
    fits: /^no sentinel/,
    hint: 'check the sentinels: do they run where --store says, do they know the name at its end (`redis-cli -p 26379 sentinel masters`), and do they want COUNTERSIGN_SENTINEL_PASSWORD?',
  },
  {
    fits: /^no node of the cluster/,
    hint: 'check the nodes: do they run where --store says (`redis-cli cluster info`)? The address of a single server is redis://HOST',
  },
  {
    fits: /^(?:no connection|no server is known)/,
    hint: 'start Redis, or fix the connection to it (`redis-cli -h HOST -p PORT ping`); name another address with --store. No answered commit is lost, and nothing needs repair',
  },
]

/** Returns advice on an unusable Redis, unless the message already gives it. */
export function redisAdvice(message: string): string | undefined {
  return ADVICE.find(({ fits }) => fits.test(message))?.hint
}

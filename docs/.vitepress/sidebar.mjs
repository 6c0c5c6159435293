/** The sidebar, by the kind of reading that a page serves. test/docs/site.test.ts finds links that lead nowhere. */
const page = (text, link) => ({ text, link })

export const sidebar = [
  {
    text: 'Tutorials',
    items: [
      page('First call in five minutes', '/tutorials/first-call'),
      page('First policy', '/tutorials/first-policy'),
      page('Review from the phone', '/tutorials/review-from-the-phone'),
      page('Production on one machine', '/tutorials/production-one-machine'),
      page('Production on Redis', '/tutorials/production-redis'),
    ],
  },
  {
    text: 'How-to guides',
    items: [
      page('All guides', '/how-to/'),
      page('Guard an agent', '/agent-side'),
      page('Guard a Python agent', '/python/'),
      page('Guard a coding agent', '/hooks'),
      page('Write policies', '/cookbook'),
      page('Playground', '/playground'),
      page('Test and change policies', '/author-tools'),
      page('Review calls', '/reviewing'),
      page('Sign in', '/signing-in'),
      page('Receive webhooks', '/webhooks'),
      page('Operate', '/operations'),
      page('Deploy', '/deploy/'),
      page('Answer an alert', '/runbooks/'),
      page('Verify a year', '/how-to/verify-a-year'),
      page('Why was my call not run?', '/why-not-run'),
      page('Questions and answers', '/faq'),
    ],
  },
  {
    text: 'Reference',
    items: [
      page('Overview', '/reference/'),
      page('Glossary', '/glossary'),
      page('API', '/reference/api'),
      page('Agent API', '/agent-api'),
      page('Review API', '/review-api'),
      page('Command line', '/reference/cli'),
      page('Policy language', '/policy-language'),
      page('Diagnostics', '/diagnostics'),
      page('Settings', '/operations#settings'),
      page('Metrics', '/metrics'),
      page('Errors', '/errors'),
      page('Events', '/evidence#what-a-record-holds'),
      page('Limits', '/limits'),
      page('Where your data lives', '/data'),
      page('Supported versions', '/versions'),
    ],
  },
  {
    text: 'Explanation',
    items: [
      page('Comparison', '/comparison'),
      page('Architecture', '/architecture'),
      page('How proofs work', '/explanation/how-proofs-work'),
      page('What evidence proves', '/explanation/what-evidence-proves'),
      page('Fail closed', '/explanation/fail-closed'),
      page('Threat model', '/security'),
      page('Evidence', '/evidence'),
      page('Store', '/store'),
      page('Benchmarks', '/bench/'),
      page('Decisions', '/decisions/'),
    ],
  },
  {
    text: 'Contributing',
    items: [
      page('Ways in', '/contributing'),
      page('Words', '/contributing/words'),
      page('Changelog', '/changelog'),
    ],
  },
]

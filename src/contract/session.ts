/** Signing in to the console, on the wire (docs/signing-in.md). Loaded only to generate schemas/openapi.json. */
import { Type, type Static } from 'typebox'

const closed = { additionalProperties: false } as const
const Instant = Type.String({ format: 'date-time' })

export const SignIn = Type.Object(
  {
    link: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The token of a one-time link: `csl_...`.',
    }),
    verifier: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description:
          'Required after single sign-on: the verifier from which the `challenge` of `/oidc/start` was made.',
      }),
    ),
  },
  closed,
)
export type SignIn = Static<typeof SignIn>

/** Facts that a page needs before the sign-in. */
export const SignInOptions = Type.Object({
  signed_in: Type.Boolean(),
  single_sign_on: Type.Optional(
    Type.Object({
      label: Type.String({ description: 'Name of the identity provider, for a button.' }),
      url: Type.String({ description: 'Path of the sign-in.' }),
    }),
  ),
})
export type SignInOptions = Static<typeof SignInOptions>

export const SignOutQuery = Type.Object(
  { everywhere: Type.Optional(Type.Enum(['true'], { description: 'Ends all sessions of this reviewer.' })) },
  closed,
)
export type SignOutQuery = Static<typeof SignOutQuery>

export const Me = Type.Object({
  tenant: Type.String(),
  reviewer: Type.String(),
  name: Type.String(),
  email: Type.Optional(Type.String()),
  groups: Type.Array(Type.String()),
  roles: Type.Array(Type.String()),
  owns: Type.Array(
    Type.String({
      description: 'Agents that you own. You may not vote on their threads, unless the directory allows it.',
    }),
  ),
  via: Type.Enum(['key', 'link', 'oidc'], {
    description: 'How you signed in. Evidence records this with your votes.',
  }),
  session: Type.Optional(
    Type.Object({
      idle_ms: Type.Integer({ description: 'The session ends after this time without a request.' }),
      expires_at: Instant,
    }),
  ),
})
export type Me = Static<typeof Me>

export const SignedIn = Type.Object({
  me: Me,
  page_secret: Type.String({
    description:
      'Send it in the header `Countersign-Page` of every later request, beside the cookie: `csp_...`. Only its hash is stored.',
  }),
})
export type SignedIn = Static<typeof SignedIn>

export const StartQuery = Type.Object({
  challenge: Type.String({
    description:
      'SHA-256, in base64url, of the verifier that the page keeps. Only that page can use the answer.',
  }),
})

export const LoginLink = Type.Object({
  url: Type.String({ description: 'Shown once. The token is in the fragment, which no server receives.' }),
  expires_at: Instant,
})
export type LoginLink = Static<typeof LoginLink>

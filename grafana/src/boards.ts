import { type Board, build } from './board.ts'
import { DELIVERY } from './delivery.ts'
import { OVERVIEW } from './overview.ts'
import { POLICY } from './policy.ts'
import { REVIEWS } from './reviews.ts'

const BOARDS: Readonly<Record<string, Board>> = {
  overview: OVERVIEW,
  reviews: REVIEWS,
  policy: POLICY,
  delivery: DELIVERY,
}

/** The intended files of grafana/dashboards/, by name. `npm run dashboards` writes them. */
export const DASHBOARD_FILES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(BOARDS).map(([name, board]) => [
    `${name}.json`,
    `${JSON.stringify(build(board), null, 2)}\n`,
  ]),
)

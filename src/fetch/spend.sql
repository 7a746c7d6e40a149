-- One statement: LiteLLM spend logs in, rows of the session rollup out, by the rules of the reader of exports.
-- $1: the first UTC day. {columns} and {table} are put in by the program. OFFSET 0 keeps what is reckoned from being reckoned twice.
WITH log AS (
  SELECT {columns}
    FROM {table}
   WHERE "startTime" >= $1::text::timestamp - interval '1 day' AND "endTime" >= $1::text::timestamp
     AND isfinite("startTime") AND isfinite("endTime")
), read AS (
  SELECT CASE WHEN COALESCE(model, '') = ''                            THEN 'no_model'
              WHEN call_type <> '' AND call_type NOT IN
                   ('completion', 'acompletion', 'text_completion', 'atext_completion',
                    'responses', 'aresponses', 'anthropic_messages')   THEN 'not_generation'
              WHEN lower(cache_hit) = 'true'                           THEN 'cache_hit'
              ELSE 'call' END                                                            AS part,
         COALESCE(model_group, '')                                                       AS pool,
         COALESCE(custom_llm_provider, '')                                               AS provider,
         model,
         CASE WHEN jsonb_typeof(metadata -> 'reasoning_effort') = 'string'
              THEN COALESCE(metadata ->> 'reasoning_effort', '') ELSE '' END             AS effort,
         COALESCE(NULLIF(status, ''), 'success') = 'success'                             AS ok,
         COALESCE(metadata #>> '{error_information,error_class}', '') IN
           ('RateLimitError', 'ServiceUnavailableError', 'InternalServerError', 'APIConnectionError',
            'AuthenticationError', 'PermissionDeniedError', 'BudgetExceededError')       AS infra,
         GREATEST(prompt_tokens, 0)::bigint                                              AS prompt,
         GREATEST(completion_tokens, 0)::bigint                                          AS output,
         COALESCE(substring(metadata #>> '{usage_object,prompt_tokens_details,cached_tokens}'
                            FROM '^([0-9]{1,18})(?:\.0+)?$')::bigint, 0)                 AS cached,
         COALESCE(substring(metadata #>> '{usage_object,prompt_tokens_details,cache_creation_tokens}'
                            FROM '^([0-9]{1,18})(?:\.0+)?$')::bigint, 0)                 AS written,
         COALESCE(substring(metadata ->> 'attempted_retries'
                            FROM '^([0-9]{1,18})(?:\.0+)?$')::bigint, 0)                 AS retries,
         CASE WHEN spend > 0 AND spend < 'Infinity' THEN spend::float8 ELSE 0 END        AS spend,
         COALESCE(jsonb_typeof(metadata) NOT IN ('object', 'null'), false)               AS unread,
         date_trunc('milliseconds', "startTime"::timestamp + interval '500 microseconds') AS started,
         date_trunc('milliseconds', "endTime"::timestamp + interval '500 microseconds')   AS ended
    FROM log
  OFFSET 0
), call AS (
  SELECT part, ended, ok, infra, output, cached, written, retries, spend, unread,
         CASE WHEN part = 'call' THEN ended::date END                                    AS day,
         CASE WHEN part = 'call' THEN pool END                                           AS pool,
         CASE WHEN part = 'call' THEN provider END                                       AS provider,
         CASE WHEN part = 'call' THEN model END                                          AS model,
         CASE WHEN part = 'call' THEN effort END                                         AS effort,
         GREATEST(prompt - cached - written, 0)                                          AS input,
         (EXTRACT(EPOCH FROM ended - started) * 1000)::bigint                            AS busy
    FROM read
  OFFSET 0
), judged AS (
  SELECT *, ok AND input + cached + written + output > 0                                 AS answered,
         ok AND retries = 0 AND output >= 50 AND busy >= 250                             AS timed
    FROM call
)
SELECT part, to_char(day, 'YYYY-MM-DD') AS day, pool, provider, model, effort,
       count(*)                                                                 AS attempts,
       count(*) FILTER (WHERE NOT ok AND infra)                                 AS infra,
       count(*) FILTER (WHERE answered)                                         AS responses,
       COALESCE(sum(input), 0)::bigint                                          AS input_tokens,
       COALESCE(sum(cached), 0)::bigint                                         AS cache_read_tokens,
       COALESCE(sum(written), 0)::bigint                                        AS cache_write_tokens,
       COALESCE(sum(output), 0)::bigint                                         AS output_tokens,
       COALESCE(sum(output) FILTER (WHERE timed), 0)::bigint                    AS speed_output_tokens,
       COALESCE(sum(busy) FILTER (WHERE timed), 0)::bigint                      AS busy_ms,
       count(*) FILTER (WHERE timed)                                            AS n_speed,
       COALESCE(sum(spend), 0)::float8                                          AS cost_usd,
       COALESCE(sum(spend * spend), 0)::float8                                  AS sum_cost_sq,
       count(*) FILTER (WHERE spend > 0)                                        AS n_cost,
       COALESCE(sum(retries), 0)::bigint                                        AS retries,
       count(*) FILTER (WHERE unread)                                           AS unread,
       (EXTRACT(EPOCH FROM min(ended)) * 1000)::bigint                          AS first_ms,
       (EXTRACT(EPOCH FROM max(ended)) * 1000)::bigint                          AS last_ms
  FROM judged
 GROUP BY part, day, pool, provider, model, effort
 ORDER BY part, day, pool, provider, model, effort

-- One statement: LiteLLM spend logs in, rows of the session rollup out, by the rules of the reader of exports (sources/sessions/litellm).
-- $1: the first UTC day. The program puts in the columns, each with the type it has here, the table, and, where nothing in the table
-- says that a call stands in it once, which of its rows counts. OFFSET 0 keeps what is reckoned from being reckoned twice.
WITH log AS (
  SELECT {columns}
    FROM {table}
   WHERE ("startTime" >= $1::text::timestamp - interval '1 day' OR "startTime" IS NULL OR "startTime" = '-infinity')
     AND "endTime" >= $1::text::timestamp
), read AS (
  SELECT CASE WHEN "endTime" >= '9999-12-31'                           THEN 'no_time'
              WHEN model IS NULL OR model = ''                         THEN 'no_model'
              WHEN call_type <> '' AND call_type NOT IN
                   ('completion', 'acompletion', 'text_completion', 'atext_completion',
                    'responses', 'aresponses', 'anthropic_messages')   THEN 'not_generation'
              WHEN lower(cache_hit) = 'true'                           THEN 'cache_hit'
              ELSE 'call' END                                                            AS part,
         COALESCE(model_group, '')                                                       AS pool,
         COALESCE(custom_llm_provider, '')                                               AS provider,
         model,
         CASE WHEN jsonb_typeof(metadata -> 'reasoning_effort') = 'string'
              THEN COALESCE(metadata ->> 'reasoning_effort', '') ELSE '' END COLLATE "C" AS effort,
         COALESCE(NULLIF(status, ''), 'success') = 'success'                             AS ok,
         COALESCE(metadata #>> '{error_information,error_class}', '') IN
           ('RateLimitError', 'ServiceUnavailableError', 'InternalServerError', 'APIConnectionError',
            'AuthenticationError', 'PermissionDeniedError', 'BudgetExceededError')       AS infra,
         prompt_tokens                                                                   AS prompt,
         completion_tokens                                                               AS output,
         COALESCE(substring(metadata #>> '{usage_object,prompt_tokens_details,cached_tokens}'
                            FROM '^([0-9]{1,12})(?:\.0+)?$')::bigint, 0)                 AS cached,
         COALESCE(substring(metadata #>> '{usage_object,prompt_tokens_details,cache_creation_tokens}'
                            FROM '^([0-9]{1,12})(?:\.0+)?$')::bigint, 0)                 AS written,
         COALESCE(substring(metadata ->> 'attempted_retries'
                            FROM '^([0-9]{1,12})(?:\.0+)?$')::bigint, 0)                 AS retries,
         spend,
         COALESCE(jsonb_typeof(metadata) NOT IN ('object', 'null'), false)               AS unread,
         request_id, total_tokens, "startTime" AS began, "endTime" AS over,
         CASE WHEN "startTime" >= '0001-01-01' AND "startTime" < '9999-12-31'
              THEN date_trunc('milliseconds', "startTime" + interval '500 microseconds') END AS started,
         CASE WHEN "endTime" < '9999-12-31'
              THEN date_trunc('milliseconds', "endTime" + interval '500 microseconds') END   AS ended
    FROM log
  OFFSET 0
), reckoned AS (
  SELECT *, GREATEST(prompt - cached - written, 0)                                       AS input,
         (EXTRACT(EPOCH FROM ended - started) * 1000)::bigint                            AS busy
    FROM read
  OFFSET 0
), once AS (
  SELECT {once}
    FROM reckoned
  {order}
), judged AS (
  -- A bill is whole dollars and a rest in units of 1e-12 USD; the cast rounds halves to the even unit, as the program does.
  SELECT *, part = 'call'                                                                AS counts,
         ok AND input + cached + written + output > 0                                    AS answered,
         ok AND retries = 0 AND output >= 50 AND busy >= 250                             AS timed,
         trunc(spend)::bigint * 1000000000000::numeric
           + ((spend - trunc(spend)) * 1e12)::bigint                                     AS units
    FROM once
  OFFSET 0
)
SELECT part,
       to_char(CASE WHEN counts THEN ended::date END, 'YYYY-MM-DD')             AS day,
       CASE WHEN counts THEN pool END                                           AS pool,
       CASE WHEN counts THEN provider END                                       AS provider,
       CASE WHEN counts THEN model END                                          AS model,
       CASE WHEN counts THEN effort END                                         AS effort,
       count(*)                                                                 AS attempts,
       sum(copies)::bigint                                                      AS copies,
       count(*) FILTER (WHERE NOT ok AND infra)                                 AS infra,
       count(*) FILTER (WHERE answered)                                         AS responses,
       COALESCE(sum(input), 0)::bigint                                          AS input_tokens,
       COALESCE(sum(cached), 0)::bigint                                         AS cache_read_tokens,
       COALESCE(sum(written), 0)::bigint                                        AS cache_write_tokens,
       COALESCE(sum(output), 0)::bigint                                         AS output_tokens,
       COALESCE(sum(output) FILTER (WHERE timed), 0)::bigint                    AS speed_output_tokens,
       COALESCE(sum(busy) FILTER (WHERE timed), 0)::bigint                      AS busy_ms,
       count(*) FILTER (WHERE timed)                                            AS n_speed,
       COALESCE(sum(units) FILTER (WHERE spend > 0), 0)::text                   AS cost_units,
       COALESCE(sum(units * units) FILTER (WHERE spend > 0), 0)::text           AS square_units,
       count(*) FILTER (WHERE answered AND spend > 0)                           AS n_cost,
       COALESCE(sum(retries), 0)::bigint                                        AS retries,
       count(*) FILTER (WHERE unread)                                           AS unread,
       (EXTRACT(EPOCH FROM min(ended)) * 1000)::bigint                          AS first_ms,
       (EXTRACT(EPOCH FROM max(ended)) * 1000)::bigint                          AS last_ms
  FROM judged
 GROUP BY 1, 2, 3, 4, 5, 6
 ORDER BY 1, 2, 3, 4, 5, 6
